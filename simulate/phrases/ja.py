"""Japanese."""

from typing import Final

from evenkeel.simulate.phrases.language import Labels, Phrases, Tones, Triple

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
