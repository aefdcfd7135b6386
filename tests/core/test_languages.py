"""Which language a text is in."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from evenkeel.core.languages import identifiable, language_of

SENTENCES = {
    "en": "The printer in the hall has been out of paper since this morning.",
    "de": "Der Drucker im Flur hat seit heute Morgen kein Papier mehr.",
    "es": "La impresora del pasillo se ha quedado sin papel desde esta mañana.",
    "fr": "L'imprimante du couloir n'a plus de papier depuis ce matin.",
    "it": "La stampante nel corridoio è senza carta da questa mattina.",
    "ja": "廊下のプリンターは今朝から紙がありません。",
    "nl": "De printer in de gang heeft sinds vanochtend geen papier meer.",
    "pt": "A impressora do corredor está sem papel desde hoje de manhã.",
}


@pytest.mark.parametrize("language", SENTENCES)
def test_a_sentence_is_enough(language):
    """The base tag of the language, whatever follows behind the first 2,000 characters."""
    other = SENTENCES["de" if language != "de" else "en"]
    assert language_of(SENTENCES[language]) == language
    assert language_of((SENTENCES[language] + " ") * 70 + (other + " ") * 200) == language


@pytest.mark.parametrize("text", ["", "  \n", "4711 -- 12.5 %", "ok", "{}[]", "\ud800"])
def test_too_little_text_is_unknown(text):
    """A text with hardly any letters has no language."""
    assert language_of(text) is None


def test_threads_get_the_same_answers():
    """The model is read once and may be asked from anywhere."""
    texts = [sentence + " " * number for number in range(40) for sentence in SENTENCES.values()]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(language_of, texts)) == list(SENTENCES) * 40


def test_short_chinese_texts_are_chinese():
    """Such texts look like Wu, which is rarely written; no text is said to be in it."""
    assert language_of("列出三个城市。") == language_of("总结: Kubernetes是一个开源系统") == "zh"
    assert "wuu" not in identifiable()
