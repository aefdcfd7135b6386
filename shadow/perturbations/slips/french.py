"""Slips in French.

An é at the end of a word makes it a participle ("parle", "parlé"): it stays.
"""

from __future__ import annotations

import re
from typing import Final

from evenkeel.shadow.perturbations.slips.keyboards import AZERTY
from evenkeel.shadow.perturbations.slips.tables import Slips, pairs, words

_MISSPELLED: Final = pairs("""
accueil acceuil, adresse addresse, ailleurs aileurs, apparemment apparement, appartement apartement
appeler apeler, apprendre aprendre, argument arguement, attention atention, beaucoup baucoup
certainement certainnement, commande comande, comment coment, commentaire comentaire, connexion connection
courriel couriel, défaut défault, développement dévelopement, différence diférence, différent diférent
différents diférents, dysfonctionnement disfonctionnement, également égallement, encore encor
enregistrer enrégistrer, ensuite ensuitte, environnement environement, erreur ereur
événement évenement, exactement exactment, exemple example, expérience expérence, expliquer expliqer
facture factture, fonctionne fonctione, immédiatement imédiatement, impossible imposible
information infomation, informations infomations, intéressant interressant, langage language
longtemps longtemp, magasin magazin, maintenant maintenent, malheureusement malheuresement, merci merçi
message mesage, mieux mieu, nécessaire nécéssaire, nombreux nombreu, nouveau nouvau, numéro numero
parmi parmis, pendant pendent, personne persone, plusieurs plusieur, possible posible, pouvez pouver
problème probleme, professionnel professionel, recevoir reçevoir, recommandation recommendation
réponse reponse, sécurité sécuritée, service servise, simplement simplment, solution sollution
support suport, système systeme, téléphone telephone, toujours toujour, travail traval, très tres
utilisateur utlisateur, voilà voila, vraiment vraimment
""")

_FREQUENT: Final = words("""
absorbe accepte acceptés acéré agent aide aime aiment aimé air aire aise ait allé amie américains analyses
anime animés annonces annoncés appelés appropriés après arme arrive associés attendre attente augmente
aurez aux avez avis avons avéré bac bague baiser baisser bal banc bas base basse basés bille billes bio
bits blessés bleus blottis boire boit boite bouche boue boule bout brin bronzés brut bulle bulles bus but
buts cable cacher cage calculs camp cane canne cap car casse casser cassé cave certains cet chaine change
changent chante chantent char chasser chat chauffe chefs chercher chers choose chose chères cire cite code
colorés combine compagne compter comte comté concert concret conduire conduite confirme confirmer conforme
conformer contacter contacts conte content contrats contrôle cor cote cou coude coupe couple coups coupée
coupés cour courant cours courts cousin cris critique cuire cuisiner cure dame demande des dessus dette
devaient devais devait devez devient devis devrez différents dire dirige dispute distincts dit dits doit
don donne dos droits due dure débit début décrire décrite délit dépenser dépit détenue effectue encre
enseignants entoure entraîner entre entrés eux factures faible faille faire fait faite faits fasse faut
faute fer ferme fiable fier figue fille filles filme fils fin fine firme foie folle foncer fond fonder
forge forme fort forts foyers fume fut gain gant gare gave glace grands grille grimpe grippe gris gros
géant habillés hache haie her hier impliqués importants include inclure inférieur inférieures inférieurs
intérieur intérieures intérieurs inverse invités isolés joie joue jouer jouet joueuse jour joyeuse laissés
lames lancer large libre lier ligne limite linge lion lire lisse lit livre liés log loin lois lors main
maire mais mal malade malle mange mangent mari marie marin matin max mesure mesures met meule meut miles
mille mimes min mine ministre mire mis mise mode mois moles montant monte monter more mot mots mule muse
mère mélanger mêle même nage nagent nef nient noirs nommés nos note nus obtenez orage orchestre organise
orge orignal oublie oubliés page paie pain pale par parent parer parle pas passant passe passes peine
peint pend personnes peser petits peu peurs photographe pile pin pince pipe pire pis piste place plage
plaide plaie plaine plaints plaire plaise planches plante plantes plat plate plier plongent poche poet
poil poils poire pois poison poisson poivre polie pomme pompe pont ponts port porte portrait pose poste
pot pouls pouvez presse prie prier prit processeur produire produite professeur profonds programmes
propose présents présentés prêts puces pur qui rage rame range rare rassemblés rate recherche rein reporte
respecte reste restes retrouve riche rides rien rient rire rires rite roche roi roue roues rouge rouges
route routes ruche rude rue ruse réduire réduite référence répertoire répertorie répondez résistants
révérence sable sait sale salle salon salue sauce saule saut sauve sein sel sentir serment serpent serve
servie ses seul short sida sien signe sin singe site situe soin solaire sommes son sons sort sorte sot
souhaite state stocke stocks suce sucre suer suit suivants sur surveille sépare tache tente tenue tes test
text tient tire tirs tirées toit tombe touchés tourne tournés tous tout transporte triées triés trouve tue
tuent tuer tués unes uns utilise utilisés valeur vapeur varie vase veille vent vente vents verre vers
verts veux vice vide vider vie vient vies ville vin viole violet vis vise viser vite vitre voie voile vois
vol vole volent vos vote votre vous voyager vraie vus âge âges écaille élevés émet épique éplucher époque
équilibre état étende étiquetés étoile étude êtes
""")

FRENCH: Final = Slips(
    AZERTY,
    _MISSPELLED,
    _FREQUENT,
    bare=dict(zip("àâçéèêëîïôùûü", "aaceeeeiiouuu", strict=True)),
    dropped=re.compile(r"[àâçèêëîïôùûü]|é(?=\w{2})"),
    elides=True,
)
"""French."""
