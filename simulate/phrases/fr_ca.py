"""French of Canada: the French phrases, in the places where a Canadian writes otherwise."""

from dataclasses import replace
from typing import Final

from evenkeel.simulate.phrases.fr import FRENCH
from evenkeel.simulate.phrases.language import Tones, Triple

CANADIAN_FRENCH: Final = replace(
    FRENCH,
    tag="fr-CA",
    names=(
        "canadian french",
        "french (canada)",
        "french as spoken in canada",
        "français canadien",
        "français (canada)",
        "français du canada",
        "français du québec",
        "français québécois",
        "fr-ca",
    ),
    good=Triple(
        "Le billet porte d’abord sur le sujet «\u00a0{topic}\u00a0», tel qu’on l’a signalé la première fois",
        "Tout a débuté par un changement que l’on a remarqué dès le commencement de la panne",
        "On a réglé cette première cause et les usagers ont pu se remettre au travail",
    ),
    different=Triple(
        "Plus tard, une deuxième panne en lien avec «\u00a0{topic}\u00a0» a touché encore bien plus de monde",
        "Elle vient d’un événement que l’équipe a trouvé seulement en cours de route",
        "Pour cette deuxième partie, on a mis en place une solution à part qui tient depuis ce temps",
    ),
    worse=Triple(
        "On dirait que quelqu’un n’est pas content de «\u00a0{topic}\u00a0»",
        "Environ {devices} appareils seraient brisés, peut-être depuis {minutes} minutes déjà",
        "Personne ne sait pourquoi et on n’a aucun remède",
    ),
    tones=Tones(
        formal="Je vous soumets par la présente ce qui suit.",
        casual="Allô, une petite question vite de même.",
        urgent="C’est pressant et ça ne peut pas attendre.",
        frustrated="Franchement, ça devient de plus en plus tannant.",
        polite="Auriez-vous la gentillesse de regarder ceci, s’il vous plaît.",
    ),
)
