"""Stock phrases of the languages that the simulation writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple


class Triple(NamedTuple):
    """Three clauses without a final mark, as an answer tells them."""

    problem: str
    event: str
    fix: str


class Labels(NamedTuple):
    """What stands before an identifier where an answer lists it."""

    ticket: str
    host: str
    version: str
    code: str
    people: str
    opened: str
    time: str
    article: str
    change: str
    closed: str


class Tones(NamedTuple):
    """What a sender of each tone begins with."""

    formal: str
    casual: str
    urgent: str
    frustrated: str
    polite: str


@dataclass(frozen=True, slots=True)
class Phrases:
    """The stock phrases of one language. They hold no digits: every number comes from a prompt.

    The clauses name no incident, only its topic in quotation marks, as a proper noun: the simulation
    can't translate, and doesn't pretend to.
    """

    tag: str
    """BCP 47 tag."""
    names: tuple[str, ...]
    """What the language is called in a prompt that asks for it, in lower case."""
    quote: str
    """A template with `{}` that puts a name in quotation marks."""
    labels: Labels
    good: Triple | None
    """`problem` has the place `{topic}`. None = the catalogue's clauses are in this language."""
    different: Triple | None
    worse: Triple
    """`problem` has the place `{topic}`, `event` the places `{devices}` and `{minutes}`."""
    stock: tuple[str, ...]
    """Sentences without a final mark that a simulated translation is filled with."""
    function_words: frozenset[str]
    """Frequent words that tell the language, in lower case."""
    rephrased: str
    """Opens a paraphrase in which no word could be replaced."""
    swaps: tuple[tuple[str, str], ...]
    """Words of equal meaning: a paraphrase puts the second where the first stands."""
    tones: Tones
    spaced: bool = True
    """Whether words are written with spaces between them."""
    stop: str = "."
    """The mark that ends a sentence."""


def words(text: str) -> frozenset[str]:
    """The words of a text that is nothing but words."""
    return frozenset(text.split())


ENGLISH: Final = Phrases(
    tag="en",
    names=("english", "englisch", "inglés", "anglais", "engels", "inglese", "inglês", "英語"),
    quote="“{}”",
    labels=Labels(
        ticket="case",
        host="host",
        version="version",
        code="error",
        people="people affected:",
        opened="opened on",
        time="at",
        article="article",
        change="change",
        closed="closed on",
    ),
    good=None,
    different=None,
    worse=Triple(
        "Somebody seems unhappy about {topic}",
        "Roughly {devices} devices might be broken, perhaps for {minutes} minutes already",
        "nobody knows why, and no remedy exists",
    ),
    stock=(
        "The following was written down by the people who looked after the matter",
        "They describe what was seen at the beginning and what was done about it",
        "Some of the details are given here in the way in which they were reported",
        "Please read the whole text with care and keep to what it says",
        "After that the work went on as it had been agreed between the teams",
        "The last part tells how the matter came to an end for everybody",
    ),
    function_words=words(
        "the of and to in is was were that for with this from by which what are be not has have as it"
    ),
    rephrased="In other words,",
    swaps=(
        ("summarise", "sum up"),
        ("was noticed", "was spotted"),
        ("reports", "messages"),
        ("people were affected", "people were concerned"),
        ("there is more", "that is not all"),
        ("what happened", "what took place"),
        ("how it was resolved", "how it was solved"),
        ("confirmed", "acknowledged"),
        ("a short while", "a little while"),
        ("later", "afterwards"),
        ("however", "yet"),
        ("also", "as well"),
        ("because", "since"),
        ("help", "assist"),
        ("need", "require"),
        ("show", "display"),
        ("begin", "start"),
        ("big", "large"),
        ("quickly", "fast"),
        ("problem", "trouble"),
        ("answer", "reply"),
        ("about", "on the subject of"),
    ),
    tones=Tones(
        formal="I hereby submit the following.",
        casual="Hey, quick one.",
        urgent="This is urgent and cannot wait.",
        frustrated="Honestly, this keeps getting more annoying.",
        polite="Would you kindly have a look at this, please.",
    ),
)


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


FRENCH: Final = Phrases(
    tag="fr",
    names=(
        "french",
        "français",
        "française",
        "französisch",
        "francés",
        "frans",
        "francese",
        "francês",
        "フランス語",
    ),
    quote="«\u00a0{}\u00a0»",
    labels=Labels(
        ticket="dossier",
        host="machine",
        version="version",
        code="erreur",
        people="personnes touchées\u00a0:",
        opened="ouvert le",
        time="à",
        article="selon l’article",
        change="avec la modification",
        closed="clos le",
    ),
    good=Triple(
        "Le dossier concerne avant tout le sujet «\u00a0{topic}\u00a0», tel que signalé la première fois",
        "Tout a commencé par un changement que l’on a remarqué dès le début de la panne",
        "Cette première cause a été supprimée et les utilisateurs ont pu reprendre leur travail",
    ),
    different=Triple(
        "Une seconde panne liée à «\u00a0{topic}\u00a0» est apparue plus tard et a touché plus de monde",
        "Elle remonte à un événement que l’équipe a découvert seulement au cours de ses recherches",
        "Pour cette seconde partie, une solution à part a été trouvée, et elle tient depuis lors",
    ),
    worse=Triple(
        "Quelqu’un semble mécontent de «\u00a0{topic}\u00a0»",
        "Environ {devices} appareils seraient en panne, peut-être depuis {minutes} minutes déjà",
        "Personne ne sait pourquoi et il n’existe aucun remède",
    ),
    stock=(
        "Ce qui suit a été écrit par les personnes qui se sont occupées de l’affaire",
        "Elles décrivent ce que l’on a vu au début et ce qui a été fait ensuite",
        "Certains détails sont donnés ici tels qu’ils ont été signalés à ce moment",
        "Veuillez lire tout le texte avec soin et vous en tenir à ce qui est dit",
        "Ensuite le travail a continué comme les équipes en étaient convenues entre elles",
        "La dernière partie raconte comment l’affaire a pris fin pour tous les utilisateurs",
    ),
    function_words=words(
        "le la les des du et est dans un une que qui pour par avec sur ce au ont été à en ne pas plus"
    ),
    rephrased="Autrement dit,",
    swaps=(
        ("avec soin", "attentivement"),
        ("décrivent", "relatent"),
        ("ensuite", "par la suite"),
        ("aussi", "également"),
        ("mais", "toutefois"),
    ),
    tones=Tones(
        formal="Je vous soumets par la présente ce qui suit.",
        casual="Salut, juste une petite chose.",
        urgent="C’est urgent et cela ne peut pas attendre.",
        frustrated="Franchement, cela devient de plus en plus pénible.",
        polite="Auriez-vous l’amabilité de regarder ceci, s’il vous plaît.",
    ),
)


JAPANESE: Final = Phrases(
    tag="ja",
    names=("japanese", "日本語", "japanisch", "japonés", "japonais", "japans", "giapponese", "japonês"),
    quote="「{}」",
    labels=Labels(
        ticket="案件",
        host="機器",
        version="版",
        code="エラー",
        people="影響を受けた人数",
        opened="受付日",
        time="時刻",
        article="参照した記事",
        change="実施した変更",
        closed="完了日",
    ),
    good=Triple(
        "この案件の中心は「{topic}」であり、最初に報告されたとおりの内容です",
        "きっかけは、障害の始まりの時点ですでに気づかれていた変更でした",
        "この最初の原因は取り除かれ、利用者はその後ふだんどおり仕事に戻ることができました",
    ),
    different=Triple(
        "「{topic}」については後から別の障害が加わり、さらに多くの人が影響を受けました",
        "それは、担当者が作業の途中で初めて見つけた出来事にさかのぼります",
        "この後半の部分には独自の対策がとられ、それ以来うまく働いています",
    ),
    worse=Triple(
        "どなたかが「{topic}」に不満を持っているようです",
        "およそ {devices} 台の機器が壊れているかもしれず、もう {minutes} 分ほど続いているのかもしれません",
        "理由は誰にもわからず、直す方法もありません",
    ),
    stock=(
        "以下の内容は、この件を担当した人たちが書き残したものです",
        "はじめに何が見られ、そのあとで何が行われたのかを説明しています",
        "いくつかの詳しい点は、当時報告されたとおりにここに示されています",
        "文章全体を注意深く読み、書かれていることだけに従ってください",
        "その後の作業は、担当の間で取り決めたとおりに進められました",
        "最後の部分では、この件がどのように終わったのかを述べています",
    ),
    function_words=frozenset(),
    rephrased="言い換えると、",
    swaps=(
        ("説明しています", "述べています"),
        ("注意深く", "よく"),
        ("以下の内容", "次の内容"),
        ("最後の部分", "終わりの部分"),
    ),
    tones=Tones(
        formal="謹んで以下のとおり申し上げます。",
        casual="どうも、ちょっとだけいいかな。",
        urgent="これは急ぎの用件で、待てません。",
        frustrated="正直に言って、これはますます困ったことになっています。",
        polite="恐れ入りますが、こちらをご覧いただけますでしょうか。",
    ),
    spaced=False,
    stop="。",
)


SPANISH: Final = Phrases(
    tag="es",
    names=(
        "spanish",
        "español",
        "castellano",
        "spanisch",
        "espagnol",
        "spaans",
        "spagnolo",
        "espanhol",
        "スペイン語",
    ),
    quote="«{}»",
    labels=Labels(
        ticket="caso",
        host="equipo",
        version="versión",
        code="error",
        people="personas afectadas:",
        opened="abierto el",
        time="a las",
        article="según el artículo",
        change="con el cambio",
        closed="cerrado el",
    ),
    good=Triple(
        "El caso trata sobre todo del tema «{topic}», tal como se comunicó por primera vez",
        "Todo empezó con un cambio que se notó ya al comienzo de la avería",
        "Esta primera causa quedó eliminada y los usuarios pudieron volver a trabajar con normalidad",
    ),
    different=Triple(
        "Más tarde apareció otra avería relacionada con «{topic}», que alcanzó a más personas todavía",
        "Procede de un suceso que el equipo descubrió solo en el curso de su trabajo",
        "Para esta segunda parte se encontró una solución propia, que desde entonces funciona bien",
    ),
    worse=Triple(
        "Parece que alguien está descontento con «{topic}»",
        "Quizás haya unos {devices} aparatos estropeados, tal vez desde hace {minutes} minutos",
        "Nadie sabe por qué ocurre y no existe ningún remedio",
    ),
    stock=(
        "Lo siguiente fue escrito por las personas que se ocuparon del asunto",
        "Ellas describen lo que se vio al principio y lo que se hizo después",
        "Algunos de los detalles figuran aquí tal como fueron comunicados entonces",
        "Por favor, lea todo el texto con cuidado y aténgase a lo que dice",
        "Luego el trabajo siguió adelante como lo habían acordado los equipos",
        "La última parte cuenta cómo terminó el asunto para todos los usuarios",
    ),
    function_words=words("el la los las de del que y en un una por con para se lo como fue su al es más no"),
    rephrased="Dicho de otra manera,",
    swaps=(
        ("cuidado", "atención"),
        ("describen", "relatan"),
        ("luego", "después"),
        ("necesito", "preciso"),
        ("también", "asimismo"),
        ("pero", "sin embargo"),
    ),
    tones=Tones(
        formal="Por la presente le expongo lo siguiente.",
        casual="Hola, una cosita rápida.",
        urgent="Esto es urgente y no puede esperar.",
        frustrated="La verdad es que esto resulta cada vez más molesto.",
        polite="Le agradecería mucho que tuviera la amabilidad de mirar esto.",
    ),
)


LANGUAGES: Final = (
    ENGLISH,
    SPANISH,
    FRENCH,
    GERMAN,
    JAPANESE,
)
"""All of them."""


def phrases_for(tag: str) -> Phrases | None:
    """The phrases of a BCP 47 tag: of the very tag, else of its language; None if there are none."""
    wanted = tag.strip().lower().replace("_", "-")
    base = wanted.partition("-")[0]
    exact = next((language for language in LANGUAGES if language.tag.lower() == wanted), None)
    return exact or next((language for language in LANGUAGES if language.tag.partition("-")[0] == base), None)
