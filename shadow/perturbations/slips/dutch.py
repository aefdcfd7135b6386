"""Slips in Dutch."""

from __future__ import annotations

import re
from typing import Final

from evenkeel.shadow.perturbations.slips.keyboards import QWERTY
from evenkeel.shadow.perturbations.slips.tables import Slips, pairs, words

_MISSPELLED: Final = pairs("""
accepteren aksepteren, adres addres, afhankelijk afhangkelijk, allemaal alemaal, alsjeblieft alsjeblief
alstublieft alstublief, antwoord antwoort, apparaat aparaat, bedoeling bedoelling, begrijpen begreipen
beschrijf beschreif, beschrijving beschreiving, bestelling besteling, betekent betekend
bijvoorbeeld bijvoorbeelt, binnenkort binnekort, controleren controlleren, definitief definitef
duidelijk duidelik, eigenlijk eigelijk, enigszins enigzins, enthousiast entousiast, ervaring ervaaring
factuur faktuur, foutmelding foutmeling, gebruiken gebruken, gebruiker gebruker, gegevens gegevns
gelijk gelik, gemakkelijk gemakelijk, hartelijk hartelik, helemaal heelemaal, hoeveelheid hoeveelhijd
informatie infomatie, interessant intressant, interesse intresse, kwaliteit kwalitijt, levering leevering
makkelijk makelijk, misschien mischien, moeilijk moeilik, mogelijk mogelik, mogelijkheid mogelijkhijd
namelijk nameljik, natuurlijk natuurlik, onderwerp onderwep, ongeveer ongever, onmiddellijk onmiddelijk
oplossing oplosing, overeenkomst overenkomst, persoonlijk persoonlik, precies presies, probleem porbleem
product produkt, reactie reaktie, rekening rekenning, samenvatting samenvating, schrijven schreiven
sowieso sowiso, succes sucses, systeem sisteem, tegelijk tegelik, tenminste tenminsten
uiteindelijk uiteindlijk, uitleggen uitlegen, verschil verschill, verschillende verschilende
volgende volgened, voorbeeld voorbeelt, waarschijnlijk waarscheinlijk, wachtwoord wachtwoort, zoeken zoekken
""")

_FREQUENT: Final = words("""
afgrond arts bad bakken balken band banden banen bas beek been beer beet begin beginnen begon begonnen
begrip bek bekende belastingaangiften bereiken berekenen berekent betekenen betekent beton beven
bevestigen bevinden bevonden bidden bidt bieden bij bil bit blaast blast blik blinde blok blonde boeiende
boek boekje boer boete bom bomen bommen bond bonen bonnen boom boord boot bord bos bot brak breidt breien
breken brul bug buigen buiten bus consistente contact contant daad dagen dak dal dam damen dammen deden
dek deken delen der dichter dict die dient diepe dingen dit dobbelsteen dochter doe doen dok don done down
dringen drongen duren duwen eed een efficiënte egel eland elf end eren eten even fel fles formaat format
gaaf gaan gaat garen gas gast gat gebed geboden gebonden geboren gebruiken geel geen geest geleerd gemeen
gen geteld getuige gevel gevlogen gevolgen gevonden gewond gewoond gezicht gezin gezocht goot graaf graf
groet groeten grootheid grootte grot haat had hal halen hallen ham hart heat heden heel hek hel held helen
hellen hem hen her hert het hoe hoen hof hok holen hollen hoogte hopen hout indien inkt kaal kaart kaas
kam kant kanten kap kas kast kat katten keek kei keken kelen keren kerk kern keten keus kil kist kleren
klikt klimt klok klopt knipt knoop koeien kok koken kolen kolk komen koopt kop kopen koppen kost krijt
kring kruk kurk kus kust kwart laagste laatste laden lag lage lager last late laten later lay leden leeft
leer leert left leg legen leggen legt lek leken lekken lente leren les let leven lever licht lid liet
lijdt lijst likt lip list loos lucht maait maakt maand maat mag maken makken malen man mand manen mannen
mee meer meet menen mes mest met meteen meten min mind mist modder mode moeder moet mond must naad nam
nemen nest net noemen nood noot normen onroerend ontwikkelen opgeteld opkomt oven over overal overeenkomt
pad paden pak pan paper paren pas pen per perfecte pet pil plaat plaatsen planten plas plat pol polen
pollen pols pompen pot poten potten processor professor put raden raken rakken ram rebel red redden reden
regel reiken reis rekken relevante rem remt rent repen res reus rijdt rijst rits roep roer rok rolt root
rot rots ruw sap schaap schap scheef schik schikt schilt schoen schok schoot schopt schot schrift short
sier sin slaan slaap slaat slag slap slot snor soep som soort soorten sort spaan speelde speelse spelen
spellen spit sporen sport sporten spraak sprint staal staart staat stad staf stal stam stand staren start
staten steen steken stel stelen stellen step ster stil stom stoom stop straat stunt systeem system taak
taart tak taken tal talen tart teelt telt ten test testen tien tijdcomplexiteit tin toch toen ton toon
touw uien vaag vak van varen vaten vatten vechten vegen velen ver verboden veren verkoopt verlagen
verlaten verleden verlenen verlicht verloopt verse vertrouwen verwachten verwachtten verzamelen vet via
viel vielen vind vinden vis voeg voegen voel voelen voeren voet voeten vol vond vonden voren vouwen waak
waarde wachten wachtten warde ware warme was wat week weekend weet weg wegen weken wel wenden wens wensen
wering werk werkend west wet weten wetten wijd wijst wind winnen winst wint wist wit woedt wol wond wonen
wonnen woord woorden word worden wordt woud zag zagen zak zaken zakken zangers zaten zeep zeer zet zeven
zicht ziek zieke zien zin zit zoek zoen zoet zon zucht zware
""")

DUTCH: Final = Slips(
    QWERTY,
    _MISSPELLED,
    _FREQUENT,
    bare={"ë": "e", "ï": "i", "ö": "o", "ü": "u"},
    dropped=re.compile("[ëïöü]"),
    # klein/klien is harmless, but kiezen/keizen, zei/zie and their like are words
    kept_pairs=frozenset({"ei", "ie"}),
)
"""Dutch. Accents for emphasis stay: "een" is not "één"."""
