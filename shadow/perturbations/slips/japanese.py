"""Slips in Japanese.

A neighbouring key on a romaji keyboard gives another syllable, and mostly another word. What people
really do is to choose another conversion (kanji or kana), to leave out a long vowel, or one of a few
known slips; the reading stays the same, or nearly.
"""

from __future__ import annotations

import re
from typing import Final

from evenkeel.shadow.perturbations.slips.tables import pairs

_BOTH_WAYS: Final = pairs("""
下さい ください, 出来る できる, 出来ない できない, 出来ます できます, 出来ません できません
有難う ありがとう, 宜しく よろしく, 致します いたします, 頂きたい いただきたい, 頂けます いただけます
頂けません いただけません, 分かりません わかりません, 分かりました わかりました, 全て すべて
様々な さまざまな, 更に さらに, 既に すでに, 例えば たとえば, 従って したがって, 特に とくに, 何故 なぜ
是非 ぜひ, 及び および, 並びに ならびに, 但し ただし, 最も もっとも, 一つ ひとつ, 殆ど ほとんど
詳しく くわしく, 無い ない, 欲しい ほしい, 良い よい, 難しい むずかしい, 新しい あたらしい
申し訳 もうしわけ, お問い合わせ お問合せ, 問い合わせ 問合せ, 取り消し 取消し, 受け取り 受取り
申し込み 申込み, 支払い 支払, 引き続き 引続き, 手続き 手続, 取り扱い 取扱い, 組み合わせ 組合せ
打ち合わせ 打合せ, ユーザー ユーザ, サーバー サーバ, コンピューター コンピュータ, プリンター プリンタ
フォルダー フォルダ, ブラウザー ブラウザ, パラメーター パラメータ, モニター モニタ, ルーター ルータ
カテゴリー カテゴリ, メモリー メモリ, センター センタ, プロバイダー プロバイダ, ドライバー ドライバ
スキャナー スキャナ
""")
_ONE_WAY: Final = pairs("""
少しずつ 少しづつ, つづく つずく, こんにちは こんにちわ, こんばんは こんばんわ, という とゆう
そういう そうゆう, こういう こうゆう, どういう どうゆう, すみません すいません
シミュレーション シュミレーション, コミュニケーション コミニュケーション, やむを得ない やむおえない
とおり とうり, 一応 いちよう, メールアドレス メルアド, スムーズ スムース, ディスプレイ デスプレイ
インターフェース インタフェース, アップロード アップロド, ダウンロード ダウロード, パスワード パスワド
ログイン ロクイン, エラー エラ
""")

_ENOUGH_KANA: Final = 4
"""Shorter stretches of kana stand inside other words too often to be read back into kanji."""

VARIANTS: Final[dict[str, str]] = {
    **{new: old for old, new in _BOTH_WAYS.items() if len(new) >= _ENOUGH_KANA},
    **_BOTH_WAYS,
    **_ONE_WAY,
}
"""Stretch of text → how it is also written."""

PLACES: Final = re.compile("|".join(sorted(VARIANTS, key=lambda one: (-len(one), one))))
"""Finds them, the longest first."""
