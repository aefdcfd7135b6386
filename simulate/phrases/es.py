"""Spanish."""

from typing import Final

from evenkeel.simulate.phrases.language import Labels, Phrases, Tones, Triple, words

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
