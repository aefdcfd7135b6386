"""Italian."""

from typing import Final

from evenkeel.simulate.phrases.language import Labels, Phrases, Tones, Triple, words

ITALIAN: Final = Phrases(
    tag="it",
    names=("italian", "italiano", "italiana", "italienisch", "italien", "italiaans", "イタリア語"),
    quote="«{}»",
    labels=Labels(
        ticket="caso",
        host="macchina",
        version="versione",
        code="errore",
        people="persone coinvolte:",
        opened="aperto il",
        time="alle",
        article="secondo l’articolo",
        change="con la modifica",
        closed="chiuso il",
    ),
    good=Triple(
        "Il caso riguarda soprattutto il tema «{topic}», così come è stato segnalato la prima volta",
        "Tutto è cominciato con un cambiamento che si è notato già all’inizio del guasto",
        "Questa prima causa è stata eliminata e gli utenti hanno potuto riprendere il lavoro",
    ),
    different=Triple(
        "Più tardi si è aggiunto un secondo guasto legato a «{topic}», che ha colpito ancora più persone",
        "Risale a un evento che la squadra ha scoperto soltanto nel corso delle ricerche",
        "Per questa seconda parte è stata trovata una soluzione a sé, che da allora regge bene",
    ),
    worse=Triple(
        "Pare che qualcuno sia scontento di «{topic}»",
        "Circa {devices} apparecchi potrebbero essere rotti, forse già da {minutes} minuti",
        "Nessuno sa perché succeda e non esiste alcun rimedio",
    ),
    stock=(
        "Quello che segue è stato scritto dalle persone che si sono occupate della questione",
        "Esse descrivono che cosa si è visto all’inizio e che cosa è stato fatto dopo",
        "Alcuni dettagli sono riportati qui così come sono stati segnalati allora",
        "Si prega di leggere tutto il testo con cura e di attenersi a quello che dice",
        "Poi il lavoro è andato avanti come le squadre avevano concordato fra loro",
        "L’ultima parte racconta come la questione si è conclusa per tutti gli utenti",
    ),
    function_words=words(
        "il la gli dei della che e è un una per con non si come sono nel alla di del più le ha stato"
    ),
    rephrased="In altre parole,",
    swaps=(
        ("con cura", "attentamente"),
        ("descrivono", "raccontano"),
        ("poi", "in seguito"),
        ("anche", "pure"),
        ("però", "tuttavia"),
    ),
    tones=Tones(
        formal="Con la presente sottopongo quanto segue.",
        casual="Ciao, solo una cosa veloce.",
        urgent="È urgente e non può aspettare.",
        frustrated="Sinceramente, la cosa diventa sempre più fastidiosa.",
        polite="Le sarei molto grato se volesse dare un’occhiata a questo.",
    ),
)
