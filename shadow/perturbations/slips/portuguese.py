"""Slips in Brazilian Portuguese.

A final accent tells words apart ("esta", "está"; "avó", "avô"): it stays, but for -ão and known slips.
"""

from __future__ import annotations

import re
from typing import Final

from evenkeel.shadow.perturbations.slips.keyboards import BRAZILIAN
from evenkeel.shadow.perturbations.slips.tables import Slips, pairs, words

_MISSPELLED: Final = pairs("""
abraço abraso, acontecer aconteser, agradeço agradesso, assinatura asinatura, até ate, atraso atrazo
através atravez, beneficente beneficiente, certeza certesa, cliente clinte, começar comessar
compreensão compreenção, conseguir consegir, decisão decizão, descrever discrever, desculpe desclupe
diferente diferete, dificuldade dificudade, discussão discursão, empresa enpresa, encontrar encotrar
endereço endereso, enviado emviado, exceção excessão, excelente exelente, exemplo ezemplo
experiência esperiência, explicação esplicação, explicar esplicar, fazer faser, funciona funsiona
garantia garatia, gostaria gostária, gratuito gratuíto, ideia idéia, importante inportante
impossível inpossível, informação informacao, informações informacoes, interesse interece
mensagem mensajem, muito muinto, não nao, necessário nescessário, nenhum nehum, número numero
obrigado obrigrado, ocorreu ocoreu, pagamento pagameto, paralisar paralizar, perceber perseber
pesquisa pesquiza, possível possivel, precisa presisa, preciso presiso, prezado presado
privilégio previlégio, problema poblema, processo proceso, programa pograma, quando quado, quiser quizer
realizar realisar, receber resceber, reclamação reclamasão, resposta respota, resumo rezumo, são sao
seguinte seginte, serviço serviso, situação situasão, solução solussão, talvez talves, também tambem
texto testo, usuário usuario, utilizar utilisar, você voce, vocês voces
""")

_FREQUENT: Final = words("""
adicionado adição adoção afiar agua alegado algo algum alho alta alterada alto alvo anca anda aos aplicado
apoiado are arma armas ata atingido ato atos atuando atuar aço ação ações banco bancos bando bastão bio
boa boas bola bule cabo cabos caco cada cadeia cadeias caia cais calar cama camada cano canos canta caos
capa cara caras carga carinho caro caros carrinho carris carro carros carta casa casar casas caça caçar
cega ceia cento cera chamado cheio cientes cima cinto cita coerente cola colina colinas colo coluna
colunas coma começado compartilhado compra comprar concerto concreto condição condução conhecia
considerado conta contado contato conter continua conto contratar copa copo coração core coro corre
corrente corte cotação coto criado crie critica culturas cura curam cão dado dama dano das deita deixado
dente dentes desce desde deseja deserta desse dia dias dica dieta diferir digo direta diretamente direto
diretor direção dito dividido doca dos duas ele elefante elegante elétrica ente era eras escola escolas
escudo especifica estadia estamos estaria estarmos estratégia estuda estufa exatamente expresso faca fala
falado falam falar faro fase fases fato fatos faça façam feio feira feita fere feria fica figo fila filha
fins fio fios firma fita fixa flat flor florestas focado fogo folha fora foram form forma formula foto
fotos fraco fracos frade frase fria frio frito fruto fui ganga ganha gato gatos gesto gota grade história
histórias hora ignorado imã inferior interação interior interno início ira irmãs irão items itens iteração
jato lago leal lebre leis levado libera liberada liberado ligar lima limar lobo logo loiro lombo louro lua
lugar lutar mago mais mal mala mama manga manha manta mapa mas mata mato maço medos mencionado mera mesa
meta mil milho min mira mito moda moer mola molho mora moral morder morre morrer morro mortas morte
mostrado mota motos mudo muro média médio nisso nora normas nosso nota note nova objeto ora ouro paga pago
pano para pare parece parede pares parto passado pata pato patos pede pedido pedra pela pelo pena pente
pera perda permitido perto pesa pesada pesar peso pessoas peça peço pia piada piadas pimentos pingar pinho
pinta pintar pinto pisa pista planta pode poeta ponta ponte ponto pontos por porta posam possam posta pote
praga prata prato preciso precisão prego premio presa pressa preta preto previsão procurado publica
puderam pulo punho puseram puxado pára quarto quatro quebrado raro rasgo raso rasto rato realizado reação
reações receia recorde recorre referência registou repete representado resultado retida retira reto
reverência ricas rico ricos rio riso river roda rosa rotulado rua ruga sabia saiam saiba sala seco seem
seis sem sentido sesta sete seus sexo sexta sino soa soar sobe sobra solar solo sono sua suas subiam
subido suco sudeste sujo surfe surge suspende suspense sírio sítio tapa taça tece teia tela tem temos
tenda tensa teria termos ternos tese teve texto tia tido tinta tio tipo tiro toca tocar toda todo topo
trago trato trela trem trepa trono tudo tópicos usado uso utilizado vago vale valor vapor var vara vaso
vela vem vence vencedor vencer vende vendedor vender ventre verso verão vestido via vias vice vida vira
visa vista vistas vive voa voar voo voos voou vota votar vou águas épica época
""")

PORTUGUESE: Final = Slips(
    BRAZILIAN,
    _MISSPELLED,
    _FREQUENT,
    bare=dict(zip("áâãçéêíóôõúü", "aaaceeiooouu", strict=True)),
    dropped=re.compile(r"ç|[áâéêíóôúü](?=\w{2})|ã(?=o\b)|õ(?=es\b)"),
)
"""Brazilian Portuguese."""
