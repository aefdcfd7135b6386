"""German."""

from typing import Final

from evenkeel.simulate.phrases.language import Labels, Phrases, Tones, Triple, words

GERMAN: Final = Phrases(
    tag="de",
    names=("german", "deutsch", "deutscher", "alemán", "allemand", "duits", "tedesco", "alemão", "ドイツ語"),
    quote="„{}“",
    labels=Labels(
        ticket="Vorgang",
        host="Rechner",
        version="Version",
        code="Fehler",
        people="betroffene Personen:",
        opened="eröffnet am",
        time="Uhrzeit",
        article="nach Artikel",
        change="mit Änderung",
        closed="geschlossen am",
    ),
    good=Triple(
        "Im Mittelpunkt des Falls steht das Thema „{topic}“, und zwar so, wie es zuerst gemeldet wurde",
        "Auslöser war eine Änderung, die schon am Anfang der Störung aufgefallen ist",
        "Diese erste Ursache wurde behoben, und die Anwender konnten danach wieder normal arbeiten",
    ),
    different=Triple(
        "Zum Thema „{topic}“ kam später eine zweite Störung hinzu, von der noch mehr Leute betroffen waren",
        "Sie geht auf einen Vorgang zurück, den die Gruppe erst im weiteren Verlauf entdeckt hat",
        "Für diesen späteren Teil wurde eine eigene Lösung eingeführt, die sich seitdem bewährt",
    ),
    worse=Triple(
        "Irgendjemand scheint sich über das Thema „{topic}“ zu ärgern",
        "Ungefähr {devices} Geräte könnten defekt sein, vielleicht schon seit {minutes} Minuten",
        "Niemand weiß, warum das so ist, und eine Abhilfe gibt es nicht",
    ),
    stock=(
        "Das Folgende wurde von den Leuten aufgeschrieben, die sich um die Sache gekümmert haben",
        "Sie beschreiben, was am Anfang zu sehen war und was danach dagegen getan wurde",
        "Einige Einzelheiten stehen hier so, wie sie damals gemeldet worden sind",
        "Bitte lesen Sie den ganzen Text sorgfältig und halten Sie sich an das, was darin steht",
        "Danach ging die Arbeit so weiter, wie es zwischen den Gruppen vereinbart war",
        "Der letzte Teil erzählt, wie die Sache für alle zu einem guten Ende gekommen ist",
    ),
    function_words=words(
        "der die das und ist wurde wurden nicht mit von für auf den dem ein eine sich wie was sie zu im"
    ),
    rephrased="Mit anderen Worten:",
    swaps=(
        ("aufgeschrieben", "notiert"),
        ("sorgfältig", "gründlich"),
        ("danach", "anschließend"),
        ("beschreiben", "schildern"),
        ("brauche", "benötige"),
        ("auch", "ebenfalls"),
        ("aber", "jedoch"),
    ),
    tones=Tones(
        formal="Hiermit lege ich Ihnen Folgendes vor.",
        casual="Hallo, nur ganz kurz.",
        urgent="Das ist dringend und kann nicht warten.",
        frustrated="Ehrlich gesagt wird das immer ärgerlicher.",
        polite="Wären Sie so freundlich und würden sich das bitte ansehen.",
    ),
)
