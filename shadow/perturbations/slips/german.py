"""Slips in German.

Umlauts and ß are written out (ue, ss), never dropped: "konnte" is not "könnte".
"""

from __future__ import annotations

import re
from typing import Final

from evenkeel.shadow.perturbations.slips.keyboards import QWERTZ
from evenkeel.shadow.perturbations.slips.tables import Slips, pairs, words

_MISSPELLED: Final = pairs("""
adresse addresse, aggressiv agressiv, allmählich allmählig, annullieren anullieren, antwort antwot
apparat aparat, beschreiben beschreibn, bestellung bestelung, brillant brilliant, dass daß
definitiv definitif, detailliert detailiert, ebenfalls ebenfals, eigentlich eigendlich, endlich entlich
entscheidend entscheident, erklären erkleren, fehlermeldung felermeldung, funktioniert funktionirt, für fuer
garantie garanti, gesamt gesammt, grammatik gramatik, hoffentlich hoffendlich, immer imer
interessant interresant, interesse interresse, irgendwie irgentwie, kaputt kaput, komitee kommitee
kommentar komentar, kommunikation komunikation, lieferung liferung, lizenz lizens, maschine maschiene
nachricht nachrricht, nämlich nähmlich, obwohl obwol, öffentlich öffendlich, ordentlich ordendlich
paket packet, passwort pasword, persönlich persöhnlich, probieren probiren, programm program
projekt projeckt, rechnung rechung, reparatur reperatur, reparieren reparrieren, rhythmus rythmus
rückgängig rückgänig, schließlich schlieslich, separat seperat, standard standart, system sytem
tatsächlich tatsächlig, terrasse terasse, tolerant tollerant, überprüfen überprüffen, ungefähr ungefär
unterschied unterschid, verantwortlich verantwortlig, verschiedene verschidene, vielleicht vieleicht
voraus vorraus, voraussetzung vorraussetzung, während wärend, wahrscheinlich warscheinlich
wirklich wirklig, ziemlich ziehmlich, zurück zurrück, zusammen zusamen, zusammenfassen zusamenfassen
""")

_FREQUENT: Final = words("""
abe abgeben abgesehen abgewiesen abnahme abnehmen absatz abschließend abzeichen abzug aktien aktivsten
algen allen alpen alpha alten anders angeben angesehen angewiesen anheben anlage annahme annehmen ansatz
anschließend anzeichen anzug arbeiten arme art aus ausgeben ausgehen bach bad bahn bann bat bau bauen
baums bay befinden befunden begeben beginnen begonnen beheben belebte belebten belegte benutzen benötigen
bereit bestimmen bestätigen besuchen beten betet betragen betrags bett betten biegen bieten bilden bin
binden bis bit blick block bord bot boyer bricht brief buch busse cafe care code counts daher darum das
datum dauer deck definieren dein den denen denn des dich dienen dient dienten dies diess doch does drin
dritten drücke ehr eier eignen eimer einen einer einige einigen eins eintauchen elf end enge engen english
enten entfernen entführen erhielten erhöhen erkläre erklären erleben erlegen ernst erst erstelle erstellen
ersten erstes erzielen erzielten erzählen fakten falsche falten fast fegt feiern fester fett feuern finde
finden firmen first fisch fische flache flasche flehen fliegen fliegt fliehen flieht flächen flüchen form
formel formen frage free freien freude freue freuen frisst frist früchte fussball fährt fährte fälle fällt
fühle fühlen fühlt führen führt führte fülle füllt fürchte füssen gange ganze gebe geben gedicht gedichte
gefällt gefüllt gegen gehe gehen gehören gene generieren gericht gerichte gesicht gestern gesucht gewicht
geworden geworfen glaube grossbritanniens grossvater größe größer grüße haben hafen harte harten hasen
hassen hat hatten haven heer helden helfen her hingegen hingehen hohe hut höre ist jungs kam karren karte
karten kasse kaut kaute keime keimen kein keine keinen keiner kickt kisten kochen korrigiere kosten
krieges kämpfen können kühe lag lage lagen lancet landet las laufen lauten lebe leben lebt leer left legen
legt lehne leihen leitung licht liebe lieben liefen liege liegen linie linien linke linken list listen los
luft lust mail mails mais mal male man marke mart masse maul maus mich min mitte motte mut mächte möchte
müssen naht namen nase nasse nein neun nomen nun nyse ofen offen orden ost pak peer person phase phasen
phillips plant rad radiert rasiert rat rate raue rechte rechts reduzieren regen reiche reihe reihen rein
reiten reizen res rock rohen rollen rot roten saft sagen sagt san sand satt sauer scheiben schein scheinen
schere schild schlafen schliessen schläft schlägt schnitt schreien schrift schritt schuld schule schulen
schuss schutz schwebe schweden schweren schwimmen schätze schätzen schüssel schüttet schützen see segen
sehen sehende seien seife sein seite senden setzen sichere sicht sie sieg sin sinne site sitzt sollen
sonne sorge sorte sortieren sours sparen spaten spiele stadt stand starren starrt start starten state
statt stehen stelle stellen sterben stimme streifen streiten ständen sucht säen sängern tag taten tauben
taugen teile teilen ten test testen teuer text texten tide tiefen tieren tod tode ton toren tot toten
trafen tragen traten trees true tut umgeben umgehen vergeben vergehen verkauf verlassen verlauf verpassen
verstecke verstehn verzerren vorlieben vorliegen wachen wan wange war ware waren website weder wegen wehen
weiden weil weise weisen weisse weit welle welpe werden werfen werten west wette wider wie will wille
winden wird wirken wolken wolle wollen word wunden wählen wäre zehen zehn zeichen zeigen zeit zeiten
zeugen ziegen ziehen zurückgeben zurückgehen zweites überwachen
""")

GERMAN: Final = Slips(
    QWERTZ,
    _MISSPELLED,
    _FREQUENT,
    bare={"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"},
    dropped=re.compile("[äöüß]"),
    nouns=re.compile(r".{3,}(?:ung|heit|keit|schaft|tion|ität|ismus|nis|ment)(?:en|e|s)?"),
    # bleiben/blieben, schreiben/schrieben, dienen/deinen
    kept_pairs=frozenset({"ei", "ie"}),
)
"""German."""
