"""Words that say nothing about which tool is meant, in both languages: grammar, courtesy, and "give me"."""

from __future__ import annotations

_ENGLISH = """
a about above after again all also am an and any are as at be because been before being between both but by can
could d did do does doing don done down during each either else etc ever few for from further get gets getting
given gives giving go going got had has have having he help her here hers him his how i if im in into is it its
itself just know let like ll look looking m make me more most my myself need needs no nor not now of off on once
one only or other our ours out over own please provide re s same shall she should so some such t tell than thank
thanks that the their them then there these they this those through to too under until up us use used user using
ve very via want wanted wants was we were what when where whether which while who whom why will with would you
your yours yourself
"""
_CHINESE = """
一 上 下 不 与 且 个 中 为 么 之 也 了 于 些 从 他 以 会 但 位 你 使 做 其 内 再 几 到 前 去 又 及 可 各
后 吗 吧 呀 呢 和 哪 啊 在 地 外 太 她 它 对 将 就 帮 并 应 很 得 您 想 我 或 所 把 时 是 更 最 有 来 某
次 此 每 用 由 的 着 等 给 者 而 能 被 要 让 该 请 谁 过 还 这 那 都 里 一下 一个 一些 一种 为何 之前
之后 了解 什么 他们 以及 任何 你们 你好 使用 例如 关于 其他 其次 具体 另外 可以 可否 各个 同时 告诉 咱们
哪个 哪些 哪里 因为 多少 她们 如何 如果 它们 已经 希望 帮助 帮忙 帮我 并且 应该 怎么 怎样 您们 您好 想要
感谢 我们 我想 我要 所以 所有 指定 按照 接着 提供 时候 最后 最近 有关 某个 根据 正在 此外 每个 比如 然后
现在 用户 目前 相关 知道 等等 给定 能否 能够 自己 详细 请帮 请问 谢谢 还有 这个 这些 这里 进行 通过 那个
那些 那里 需要 首先 麻烦 为什么 怎么样
"""

STOP_WORDS_EN = frozenset(_ENGLISH.split())
STOP_WORDS_ZH = frozenset(_CHINESE.split())
STOP_WORDS = STOP_WORDS_EN | STOP_WORDS_ZH
