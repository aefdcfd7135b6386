"""Dutch."""

from typing import Final

from evenkeel.simulate.phrases.language import Labels, Phrases, Tones, Triple, words

DUTCH: Final = Phrases(
    tag="nl",
    names=(
        "dutch",
        "nederlands",
        "niederländisch",
        "neerlandés",
        "holandés",
        "néerlandais",
        "olandese",
        "オランダ語",
    ),
    quote="“{}”",
    labels=Labels(
        ticket="melding",
        host="machine",
        version="versie",
        code="fout",
        people="getroffen mensen:",
        opened="geopend op",
        time="om",
        article="volgens artikel",
        change="met wijziging",
        closed="gesloten op",
    ),
    good=Triple(
        "De zaak gaat vooral over het onderwerp “{topic}”, zoals dat voor het eerst werd gemeld",
        "Het begon met een wijziging die al bij het begin van de storing is opgevallen",
        "Deze eerste oorzaak werd weggenomen en de gebruikers konden daarna weer gewoon werken",
    ),
    different=Triple(
        "Later kwam er bij “{topic}” nog een tweede storing bij, waarvan nog meer mensen last hadden",
        "Die gaat terug op een gebeurtenis die de ploeg pas in de loop van het werk heeft ontdekt",
        "Voor dit latere deel werd een eigen oplossing ingevoerd, die sindsdien goed blijft werken",
    ),
    worse=Triple(
        "Iemand lijkt ontevreden te zijn over “{topic}”",
        "Ongeveer {devices} apparaten zijn misschien kapot, wellicht al sinds {minutes} minuten",
        "Niemand weet waarom dat zo is en een oplossing bestaat niet",
    ),
    stock=(
        "Het volgende werd opgeschreven door de mensen die zich met de zaak hebben beziggehouden",
        "Zij beschrijven wat er in het begin te zien was en wat er daarna aan is gedaan",
        "Sommige bijzonderheden staan hier zoals ze toen door de gebruikers zijn gemeld",
        "Lees de hele tekst alstublieft zorgvuldig en houd u aan wat daarin staat",
        "Daarna ging het werk verder zoals dat tussen de ploegen was afgesproken",
        "Het laatste deel vertelt hoe de zaak voor iedereen goed is afgelopen",
    ),
    function_words=words(
        "de het een en van dat die niet zijn werd door voor met wat aan er bij is ook naar op om te"
    ),
    rephrased="Met andere woorden:",
    swaps=(
        ("zorgvuldig", "aandachtig"),
        ("beschrijven", "vertellen"),
        ("daarna", "vervolgens"),
        ("ook", "eveneens"),
        ("maar", "echter"),
    ),
    tones=Tones(
        formal="Hierbij leg ik u het volgende voor.",
        casual="Hoi, even heel kort.",
        urgent="Dit is dringend en kan niet wachten.",
        frustrated="Eerlijk gezegd wordt dit steeds vervelender.",
        polite="Zou u zo vriendelijk willen zijn hier eens naar te kijken.",
    ),
)
