"""Portuguese of Brazil."""

from typing import Final

from evenkeel.simulate.phrases.language import Labels, Phrases, Tones, Triple, words

BRAZILIAN_PORTUGUESE: Final = Phrases(
    tag="pt-BR",
    names=(
        "brazilian portuguese",
        "portuguese",
        "português",
        "portugiesisch",
        "portugués",
        "portugais",
        "portugees",
        "portoghese",
        "pt-br",
        "ポルトガル語",
    ),
    quote="“{}”",
    labels=Labels(
        ticket="chamado",
        host="máquina",
        version="versão",
        code="erro",
        people="pessoas afetadas:",
        opened="aberto em",
        time="às",
        article="conforme o artigo",
        change="com a mudança",
        closed="encerrado em",
    ),
    good=Triple(
        "O chamado trata principalmente do tema “{topic}”, da forma como foi relatado pela primeira vez",
        "Tudo começou com uma alteração que já foi percebida no início da falha",
        "Essa primeira causa foi eliminada e os usuários puderam voltar a trabalhar normalmente",
    ),
    different=Triple(
        "Mais tarde surgiu uma segunda falha ligada a “{topic}”, que atingiu ainda mais pessoas",
        "Ela remonta a um acontecimento que a equipe só descobriu no decorrer do trabalho",
        "Para essa segunda parte foi encontrada uma solução própria, que desde então funciona bem",
    ),
    worse=Triple(
        "Parece que alguém não está satisfeito com “{topic}”",
        "Talvez uns {devices} aparelhos estejam quebrados, quem sabe há {minutes} minutos",
        "Ninguém sabe o motivo e não existe nenhuma solução",
    ),
    stock=(
        "O que segue foi escrito pelas pessoas que cuidaram do assunto até agora",
        "Elas descrevem o que foi visto no começo e o que então foi feito a respeito",
        "Alguns dos detalhes estão aqui da forma como foram relatados naquele momento",
        "Por favor, leia o texto todo com atenção e não vá além do que ele diz",
        "Depois disso o trabalho continuou como as equipes haviam combinado entre si",
        "No fim se conta como o assunto foi concluído para todos os usuários",
    ),
    function_words=words(
        "o a os as do da dos das que e em um uma para com não foi são ao como pelo pela mais se na no"
    ),
    rephrased="Em outras palavras,",
    swaps=(
        ("com atenção", "com cuidado"),
        ("descrevem", "relatam"),
        ("depois disso", "em seguida"),
        ("também", "igualmente"),
        ("mas", "porém"),
    ),
    tones=Tones(
        formal="Venho por meio desta apresentar o seguinte.",
        casual="Oi, é só uma coisinha rápida.",
        urgent="Isto é urgente e não pode esperar.",
        frustrated="Sinceramente, isso está cada vez mais chato.",
        polite="O senhor poderia fazer a gentileza de dar uma olhada nisto.",
    ),
)
