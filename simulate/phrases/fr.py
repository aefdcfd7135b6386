"""French of France."""

from typing import Final

from evenkeel.simulate.phrases.language import Labels, Phrases, Tones, Triple, words

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
