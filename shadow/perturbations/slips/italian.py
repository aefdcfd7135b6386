"""Slips in Italian.

A final accent becomes an apostrophe, as keyboards without accents make it: "parlo" is not "parlò".
"""

from __future__ import annotations

import re
from typing import Final

from evenkeel.shadow.perturbations.slips.keyboards import ITALIAN as LAYOUT
from evenkeel.shadow.perturbations.slips.tables import Slips, pairs, words

_MISSPELLED: Final = pairs("""
accelerare accellerare, acquisto aquisto, aeroporto aereoporto, allegato alegato, apposta aposta
attenzione atenzione, azienda azzienda, beneficenza beneficienza, bisogno bisognio, cioè cioe
cliente clente, collegamento colegamento, comunicazione communicazione, comunque comunqe
conoscenza conoscienza, correttamente corettamente, coscienza coscenza, difficile dificile
eccezionale eccezzionale, efficiente eficiente, errore erore, esempio essempio, esercizio esercizzio
essere esere, fattura fatura, funziona fuziona, gentile gentille, grazie grazzie, immagine imagine
importante inportante, impossibile imposibile, indirizzo indirizo, informazioni infomazioni
intelligente inteligente, interessante interesante, istruzioni istruzzioni, maggiore magiore
mattina matina, messaggio mesaggio, necessario neccessario, nessuno nesuno, oppure opure, più piu'
ottenere otenere, perché perchè, poiché poichè, pomeriggio pomerigio, possibile posibile
precedente precendente, problema probelma, prodotto prodoto, programma programa, proprio propio
qualche qualque, qualcosa qualcossa, questo qesto, riassunto riasunto, ricevuto riceuto
richiesta richesta, risposta rispota, scienza scenza, scuola squola, servizio servizzio
soddisfatto sodisfatto, soluzione soluzzione, soprattutto sopratutto, spedizione spedizzione
successo sucesso, sufficiente suficiente, traduzione traduzzione, tranquillo tranquilo
ufficio uficio, utilizzare utilizare, velocemente velocmente
""")

_FREQUENT: Final = words("""
abbaiano abbiamo abbiano abbinamento abbonamento abete abito acuto afgana aggiungi aggiunti agio agito
aiutano ali alta alte alti alto altre ama analisi anno ano ape appeso are area arma aspettare aspettate
assegnare attacco attraversano aumentano aumentare aumentate auto avanzare avanzate avere avete avuta
avuto baco baia ballano banca banco banda bara barra basa basare basate base bassa basse battere batteria
beve bio bocca bruciamo bruciano buco cacca cade calo calore camino camminano cammino campana campi cane
cantano cantate cantati capelli capello capi capo cappelli cappello capre cara caro carro carta carte casa
case caso cassa casse casuale causale cavo cento cera cercano cercare cercate chiuda chiusa cibo cima coda
coerente coinvolge coinvolte colla collo colpa colpo comare composto concerto concetto concreto
considerare considerate conta contati contatti contatto conto copia copie coppa coppia coppie coprire
corda core coro corre corrente corsa corte cosa cose costruire costruite cotte creano crescita cubo
cucinano cura cure custodia dado dai dal dare date dati dei del deposto determinare determinate diario
dona donna dovere dritto eco economia elefante elegante era erbe erge esserci essere esseri esservi eterno
facciamo facciano fai faro farsi fase fasi fata fato fatta fatto fece fede figlia figlio fila fino finta
fiori firma fissano foglia foglio fonte forma fornire fornite forse forze fotografa fotografia frasi
fritti frutti fugge fughe fuori galla gallo gene giocano grano grigia guarda guardano gusto ignorano
include incluse indetto infetto influenzano iniziamo iniziano intera intero lago lanciano lasciano
lasciare lasciate lasciati lato lavorano legali leggero letali libri libro lite luna macchia macchie
macchine magia mai mal man mangiano mano marco mare media medio mente menzionare menzionate metri metro
metti metto mia mille min ministri ministro mio misurare misurate modi modo molle molo monta monte
mostrano moto muta nei nel nido noci nodi nodo noi nome nonno nono nota notare note notte nove nudo nuora
nuota ora oro orto pace paesaggi paesaggio paesi paio pala palla palo panca pane panno papa pappa parare
parere parete pari parla parlano parlare parlate parte parti partire partite passaggi passaggio passano
passare passate passi patto pece pena pendere penna per perso pesare pesi peso pezzi pezzo piana piane
piano pianta pila pino pipa pista pizza poco poeta poi pollo polo pone ponte porta portare portate portati
posa posano possa possano posta potenza poter potere potete potrete preparano presentare presentate presi
preso pressi presso prete privato processore professore progettare progettate provato quadrate qui
raccontano radunare radunate rapa rappresentano reali realtà reazione reazioni rena reso ricca ricco
ricordo ricorso riga righe rilasciano rilevare rilevate riordinare riordinate rito riva rivolge rivolte
rocca rodere rosa rossa rughe sacchi sai sala sale salire salita salite saliti salito salta saltano salti
salto saluta salute saluti saluto sanno sano sapere sapete sarò sasso scarpa scene scorre scorte scudi
scura scuri scuro sede segnalare segnalate sei sella senno seno sera serra sesso seta sete sette sia siamo
siano sin soldato solfato solo soma somma sonno sono sorte sosta sostituire sostituite sparare sparate
sparo spera sperato speso spesso spiegali spina spinto sposa sta stai stare stata state stati steso stesso
stia stiamo stiano sto storia stratega strategia sua sui sul sullo suoi suolo suonano supportare
supportate svelto tana tecnologia tenta tesa tesi test tipo tiro tomba tonno tono topo toro tradizione
traduzione trono trovare tua tuo tuta tutta uccide uccise unici usano usare usate utilizzano utilizzare
utilizzate uva vai valore vano vapore vede vedendo vedere vedo vedute vena vendite vendute venti venuti
vera vere vero vestire vestite via vice vieta vieti vili villa vino viola viso vista viste visti vita vive
voce voi vola volano volare volere voli volo volta volte vota voto
""")

ITALIAN: Final = Slips(
    LAYOUT,
    _MISSPELLED,
    _FREQUENT,
    bare={"à": "a'", "è": "e'", "é": "e'", "ì": "i'", "ò": "o'", "ù": "u'"},
    dropped=re.compile(r"[àèéìòù]\b"),
    elides=True,
)
"""Italian."""
