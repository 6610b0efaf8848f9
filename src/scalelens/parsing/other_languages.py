"""Words of training in other languages, as the English ones: `Epoche 3: Verlust 2.1, Dauer 45 s`, `第3轮 耗时45秒`.

A line is put into English where it counts epochs, steps or batches by a word of another language, or by an English one
next to signs of training (`Epoch 3 训练损失: 2.1`).  What has no English word here stays as it is.  In scripts that put
no blanks between words, longer ones come first.
"""

import ahocorasick_rs

from scalelens.parsing import lazy_re as re

_WORDS = {
    " val loss ": "Validierungsverlust 验证损失 検証損失",
    " train loss ": "Trainingsverlust 训练损失 訓練損失",
    " loss ": "Verlust perte pérdida perda perdita 损失值 损失 損失 손실 потери ошибка",
    " epoch time ": "每轮耗时 每轮用时 每轮时间 每轮训练时间 每轮训练耗时 本轮耗时 本轮用时 本轮时间 "
    "本轮训练时间 本轮训练耗时 轮耗时 轮用时 轮时间 エポック時間",
    " step time ": "每步耗时 每步用时 单步耗时 单步用时",
    " eta ": "verbleibend restant restante 预计剩余时间 剩余时间 预计剩余 剩余",
    " total time ": "Gesamtzeit Gesamtdauer 总耗时 总用时 累计耗时 累计用时 累计时间",
    " per ": "pro por par",
    " training ": "训练 訓練 学習 학습",
    " validation ": "验证 検証 검증",
    " test ": "测试 テスト 테스트",
    " mean ": "Mittel moyenne media média 平均",
    " done ": "完成",
    " epoch ": "Epochen Epoche époque epoque época epoca 轮次 轮数 轮 周期 エポック 에포크 에폭 эпоха",
    " iteration ": "itération iteración iteração iterazione 迭代次数 迭代 反復 반복 итерация",
    " step ": "Schritt étape paso passo 步数 步 ステップ 스텝 단계 шаг",
    " batch ": "批次 バッチ 배치 lote батч",
    " learning rate ": "Lernrate 学习率 学習率",
    " accuracy ": "Genauigkeit exactitude 准确率 正確率 精度",
    " time ": "Dauer Zeit durée temps tiempo duración tempo duração durata время 耗时 用时 花费时间 已用时间 时间 "
    "経過時間 所要時間 時間 경과시간 소요시간 시간",
    " ms": "毫秒 ミリ秒 мс",
    " s": "Sekunden secondes segundos secondi 秒钟 秒 초 секунд сек",
    " min": "Minuten 分钟 분 минут мин",
    ": ": "：",
    ", ": "， 、 ；",
    "(": "（",
    ")": "）",
    "%": "％",
    "/": "／",
}
_ENGLISH = {word.lower(): english for english, words in _WORDS.items() for word in words.split()}
_NTH = re.compile(r"第\s?(\d+)(\s?/\s?\d+)?\s?(轮|步|次迭代|批)")  # 第 3/20 轮
_IN_SHORT = re.compile(r"(?<![^\W\d_])[Éé]p(?= ?\d{1,6}(?![\d.,]))")  # Ép1
_BLANKS = re.compile(" {2,}")
_WORD = re.compile(r"[^\W\d_]+")
_OWN_SIGNS = "[\u3000-\u30ff\u4e00-\u9fff\uac00-\ud7af\uff00-\uffef]"  # of scripts that put no blanks between words
_IN_SIGNS = re.compile(
    f"(?={_OWN_SIGNS})(?:" + "|".join(sorted((w for w in _ENGLISH if w[0] >= "\u3000"), key=len, reverse=True)) + ")"
)
COUNTING = tuple(
    word for key in (" epoch ", " iteration ", " step ", " batch ") for word in _WORDS[key].lower().split()
)
_COUNTING_SIGNS = tuple(word for word in COUNTING if word[0] >= "\u3000")
_TIMES = tuple(
    word for key in (" time ", " total time ", " epoch time ") for word in _WORDS[key].split() if word[0] >= "\u3000"
)
_COUNTING_IN_ENGLISH = ("poch", "POCH", "tep", "STEP", "ter", "atch")  # next to signs: `Epoch 3 训练损失: 2.1`
# What is looked for first, as it takes a tenth of the time: parts of the counting words in ASCII, and other letters.
_IN_ASCII = ahocorasick_rs.AhoCorasick(
    ["poche", "poque", "poca", "chritt", "paso", "Paso", "passo", "Passo", "lote", "Lote", "terazione"],
    implementation=ahocorasick_rs.Implementation.DFA,
)
_LETTER = re.compile(r"[\u00c0-\u024f\u0400-\u04ff\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")


def in_english(text: str, below_a_count: bool = False) -> str:
    """A line with the words of training in English, if it counts by a word of another language; else as it is.

    `below_a_count`: it stands below a line that counts, and is put into English as well if it states a time.
    """
    if text.isascii():
        if not _IN_ASCII.find_matches_as_indexes(text):
            return text
    elif not _LETTER.search(text):
        return text
    text = _IN_SHORT.sub("époque ", text)
    has_signs = any(word in text for word in _COUNTING_SIGNS)
    if not has_signs and (
        (below_a_count and any(word in text for word in _TIMES)) or any(part in text for part in _COUNTING_IN_ENGLISH)
    ):
        has_signs = _IN_SIGNS.search(text) is not None
    if not has_signs and not any(word.lower() in COUNTING for word in _WORD.findall(text)):
        return text
    if has_signs:
        text = _NTH.sub(r"\3 \1\2 ", text)
        text = _IN_SIGNS.sub(lambda match: _ENGLISH[match[0]], text)
    else:
        text = _WORD.sub(lambda match: _ENGLISH.get(match[0].lower(), match[0]), text)
    return _BLANKS.sub(" ", text).replace(" :", ":").replace(" =", "=").replace(" ,", ",").strip(" ")
