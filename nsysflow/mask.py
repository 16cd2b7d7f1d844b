"""Keep keys, passwords and people's names out of what is shown. Traces are full of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# Angle quotation marks: they survive escaping, and no value that is masked may hold the first.
MASK = "\u2039masked\u203a"

# Every repetition below is bounded, so that no text, however made, takes more than linear time.
# A key may follow any punctuation, but inside a longer word the same letters are chance.
_EDGE = r"(?<![A-Za-z0-9])"
_END = r"(?![A-Za-z0-9])"
# Keys are told from words by a capital or a digit.
_ODD = r"(?=[a-z]{0,60}[A-Z0-9])"
_VALUE = r"""(?:"[^"\n]{1,4096}"|'[^'\n]{1,4096}'|[^\s"'&;,<>(){}\[\]|\u2039]{1,4096})"""
_NAMED = (
    r"(?:api[_-]?key|access[_-]?key(?:[_-]?id)?|secret[_-]?key|account[_-]?key|private[_-]?key"
    r"|encryption[_-]?key|signing[_-]?key|secret|passwd|password|passphrase|credentials?"
    r"|(?:auth|access|bearer|refresh|session|hub)[_-]?token|(?<![A-Za-z])(?-i:pwd)"
    # PWD itself is a folder, and many a kernel has a forward pass.
    r"|(?<=[A-Za-z0-9]_)pwd|(?:db|user|root|admin|smtp|mysql|redis|http|proxy|mail|ldap)_?pass)"
)
# The ends of those words. Many a kernel is about tokens or keys, but it gives them no value.
_GIVEN = (
    "key",
    "key_id",
    "secret",
    "passwd",
    "password",
    "passphrase",
    "credential",
    "credentials",
    "token",
    "pwd",
    "pass",
)
_GIVING = frozenset("=:'\" \t")
_IS = r"[\"']?\s{0,4}(?:=|:(?!:))\s{0,4}"
_PERSON = r"[^\s/\\\"'<>|:;,*?(){}\[\]`\u2039]{1,64}"
# Only these end an e-mail address: ELF symbols and Python modules have an @ and dots as well.
_DOMAINS = (
    r"(?:com|org|net|edu|gov|mil|int|io|ai|dev|info|uk|de|fr|jp|cn|kr|in|ca|ch|nl|se|no|fi|it|es"
    r"|au|br|ru|eu|us|at|be|dk|tw|sg|il)"
)


@dataclass(frozen=True)
class _Rule:
    """Mask what the patterns find, but for their groups ``keep`` and ``after``.

    ``signs`` are lower-case texts of which one must occur: looking for them is far cheaper than the
    patterns, and nearly every kernel name has none. With ``given`` a sign counts only where a value
    may follow it.
    """

    signs: tuple[str, ...]
    patterns: tuple[re.Pattern[str], ...]
    given: bool = False

    def concerns(self, low: str) -> bool:
        """Return whether a text in lower case may have something to mask."""
        if self.given:
            return any(sign in low and _is_given(sign, low) for sign in self.signs)
        return any(sign in low for sign in self.signs)

    def apply(self, text: str) -> tuple[str, int]:
        """Return the masked text and how often it was masked."""
        total = 0
        for pattern in self.patterns:
            text, count = pattern.subn(_replaced, text)
            total += count
        return text, total


def _is_given(sign: str, low: str) -> bool:
    at = low.find(sign)
    while at >= 0:
        at += len(sign)
        if low[at : at + 1] in _GIVING:
            return True
        at = low.find(sign, at)
    return False


def _replaced(match: re.Match[str]) -> str:
    parts = match.groupdict()
    return f"{parts.get('keep') or ''}{MASK}{parts.get('after') or ''}"


def _rule(signs: str, *patterns: str) -> _Rule:
    return _Rule(tuple(signs.split()), tuple(re.compile(pattern) for pattern in patterns))


def _given_rule(signs: tuple[str, ...], *patterns: str) -> _Rule:
    return _Rule(signs, tuple(re.compile(pattern) for pattern in patterns), given=True)


_RULES = (
    _rule(
        "-----begin",
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,20}-----"
        r"(?:[^-]|-(?!----END))*(?:-----END [A-Z0-9 ]{0,60}-----)?",
    ),
    _rule(
        "://",
        r"(?P<keep>(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{0,30}://)"
        r"[^\s/@\"'<>?#\u2039]{1,512}(?P<after>@)",
    ),
    _rule(
        "hooks.slack.com/ /api/webhooks/ webhook.office.com/",
        r"(?P<keep>hooks\.slack\.com/|/api/webhooks/|webhook\.office\.com/)"
        r"[A-Za-z0-9_/@.-]{8,512}",
    ),
    _rule(
        "akia asia abia acca aroa aida agpa",
        _EDGE + r"(?:AKIA|ASIA|ABIA|ACCA|AROA|AIDA|AGPA)[A-Z0-9]{16}" + _END,
    ),
    # Real ones have 34 characters; shorter ones only if no name of a function could look so.
    _rule(
        "hf_ api_org_",
        _EDGE + r"(?:hf|api_org)_(?:[A-Za-z0-9]{34}" + _END + r"|[A-Z0-9]{20,64}"
        r"|(?=[A-Za-z]{0,20}[0-9])[A-Za-z0-9]{28,64})",
    ),
    _rule("gho_ ghp_ ghu_ ghs_ ghr_", _EDGE + r"gh[pousr]_" + _ODD + r"[A-Za-z0-9]{8,255}"),
    _rule("github_pat_", _EDGE + r"github_pat_[A-Za-z0-9_]{8,255}"),
    _rule("glpat- gldt- glrt-", _EDGE + r"gl(?:pat|dt|rt)-[A-Za-z0-9_.-]{8,255}"),
    _rule(
        "sk- pk-",
        _EDGE + r"[sp]k-(?:[a-z]{2,10}[0-9]{0,2}-){0,3}(?=[a-z_]{0,60}[A-Z0-9])"
        r"[A-Za-z0-9_]{8,255}[A-Za-z0-9_-]{0,255}",
    ),
    _rule(
        "sk_live_ sk_test_ rk_live_ rk_test_ whsec_",
        _EDGE + r"(?:[rs]k_(?:live|test)|whsec)_[A-Za-z0-9]{8,255}",
    ),
    _rule("xox xapp-", _EDGE + r"(?:xox[a-eoprs]|xapp)[.-][A-Za-z0-9.%-]{8,512}"),
    _rule("eyj", _EDGE + r"eyJ[A-Za-z0-9_-]{8,1024}(?:\.[A-Za-z0-9_-]{3,4096}){1,4}"),
    _rule("aiza", _EDGE + r"AIza[A-Za-z0-9_-]{30,60}"),
    _rule(
        "gocspx- ya29.",
        _EDGE + r"GOCSPX-[A-Za-z0-9_-]{20,60}",
        _EDGE + r"ya29\.[A-Za-z0-9_-]{20,512}",
    ),
    _rule("nvapi-", _EDGE + r"nvapi-[A-Za-z0-9_-]{8,255}"),
    _rule(
        "npm_ r8_ dapi hvs. dop_v1_ tskey- wandb_v1_ dckr_pat_ pypi- sg. key-",
        _EDGE + r"(?:npm_[A-Za-z0-9]{30,60}|r8_[A-Za-z0-9]{30,60}|dapi[0-9a-f]{32}"
        r"|hvs\.[A-Za-z0-9_-]{20,255}|dop_v1_[0-9a-f]{32,80}|tskey-[A-Za-z0-9-]{16,100}"
        r"|wandb_v1_[A-Za-z0-9_]{20,255}|dckr_pat_[A-Za-z0-9_-]{20,60}"
        r"|pypi-[A-Za-z0-9_-]{40,512}|SG\.[A-Za-z0-9_-]{16,40}\.[A-Za-z0-9_-]{16,80}"
        r"|key-[0-9a-f]{32})",
    ),
    _rule(
        "bearer authorization",
        r"(?i)(?P<keep>"
        + _EDGE
        + r"(?:authorization[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?:(?:basic|bearer|token)\s{1,4})?"
        r"|bearer\s{1,4}(?=[a-z-]{0,60}(?-i:[0-9A-Z._~+/=]))))[A-Za-z0-9._~+/=-]{8,4096}",
    ),
    _given_rule(
        _GIVEN,
        # An option's value is its next word.
        r"(?i)(?P<keep>(?<![a-z0-9_])-{1,2}(?:[a-z0-9]{1,20}[_-]){0,4}(?:"
        + _NAMED
        + r"|token)[\"']?(?:\s{1,4}|\s{0,2}[=:]\s{0,2}))(?!-)"
        + _VALUE,
        r"(?i)(?P<keep>" + _NAMED + _IS + r")" + _VALUE,
        r"(?i)(?P<keep>api[_-]?key\s{1,4})(?=[a-z_-]{0,60}[0-9])[a-z0-9_-]{20,255}" + _END,
        # In a training job a token is most often a piece of text: numbers and plain words stay.
        r"(?i)(?P<keep>(?<![a-z0-9])token[\"']?(?:=|\s{0,2}:(?!:)\s{0,4}(?=[\"']?[a-z_-]{0,60}"
        r"(?-i:[A-Z0-9])))[\"']?)(?=[0-9.-]{0,60}[a-z])[^\s\"'&;,<>(){}\[\]|\u2039]{8,4096}",
    ),
    _rule(
        "cookie:",
        r"(?i)(?P<keep>" + _EDGE + r"(?:set-)?cookie:\s{0,4})[^\s\u2039][^\r\n\"'\u2039]{0,4096}",
    ),
    _rule(
        "sig= signature=",
        r"(?i)(?P<keep>(?<![a-z0-9])(?:sig|signature)=)[A-Za-z0-9%+/=_-]{16,1024}",
    ),
    _rule(
        "login",
        r"(?i)(?P<keep>(?<![a-z0-9])login\s{1,4}(?:--[a-z-]{1,20}\s{1,4}){0,3})[0-9a-f]{32,64}"
        + _END,
    ),
    _rule(
        "user logname",
        r"(?i)(?P<keep>(?<![a-z0-9])(?:user(?:[_-]?name)?|logname)=[\"']?)[a-z_][a-z0-9._-]{1,63}",
    ),
    _rule(
        "@",
        r"(?<![A-Za-z0-9._%+@?$-])[A-Za-z0-9][A-Za-z0-9._%+-]{0,63}@(?:[A-Za-z0-9-]{1,63}\.){1,6}"
        + _DOMAINS
        + r"(?![A-Za-z0-9.@-])",
    ),
    # Sites put homes below other folders, and at some the initial comes before the name.
    _rule("/home", r"/(?:homes/[a-z]/|homes?/)" + _PERSON),
    _rule("/users/", r"(?i)/users/" + _PERSON),
    _rule("%2fhome %2fusers", r"(?i)%2F(?:homes?|users)%2F[A-Za-z0-9._-]{1,64}"),
    _rule("\\home \\users", r"(?i)\\{1,4}(?:homes?|users)\\{1,4}" + _PERSON),
    _rule("/root", r"(?<![A-Za-z0-9._/-])/root(?![A-Za-z0-9._-])"),
    _rule("~", r"(?<![A-Za-z0-9_~:])~[a-z_][a-z0-9_-]{1,31}(?=/)"),
    _rule(
        ":\\ :/",
        r"(?i)(?<![a-z0-9])[a-z]:[\\/]{1,4}(?:users|documents and settings)[\\/]{1,4}"
        r"(?:[^\\/:*?\"'<>|\r\n\u2039]{1,64}(?=[\\/])|[^\\/:*?\"'<>|\s\u2039]{1,64})",
    ),
)


class Masker:
    """Mask texts, and count what was masked for the page to say so.

    ``hosts`` maps host names to the labels that stand for them: these are put wherever a host name
    occurs as a word, provided it is not also an ordinary word.
    """

    def __init__(self, hosts: Mapping[str, str] | None = None) -> None:  # noqa: D107 - see the class
        self.count = 0
        self._labels = _host_words(hosts or {})
        names = sorted(self._labels, key=lambda host: (-len(host), host))
        words = "|".join(map(re.escape, names))
        self._hosts = re.compile(rf"(?i)(?<![a-z0-9-])(?:{words})(?![a-z0-9-])") if names else None
        # A document says the same few words, its keys above all, thousands of times.
        self._known: dict[str, tuple[str, int]] = {}

    def text(self, text: str) -> str:
        """Return the text without what must not be shown; unchanged if there is nothing."""
        if text not in self._known:
            self._known[text] = self._masked(text)
        shown, count = self._known[text]
        self.count += count
        return shown

    def _masked(self, text: str) -> tuple[str, int]:
        low, total = text.lower(), 0
        for rule in _RULES:
            if rule.concerns(low):
                text, count = rule.apply(text)
                total += count
        if self._hosts is not None:
            text = self._hosts.sub(lambda match: self._labels[match[0].lower()], text)
        return text, total


def masked(document: Mapping[str, Any], masker: Masker) -> dict[str, Any]:
    """Return a copy of a document with every string in it masked, keys included."""
    pairs: dict[str, Any] = {}
    for key, value in document.items():
        name = shown = masker.text(key)
        number = 2
        # Two secrets as keys would become one, and one value would be lost.
        while shown in pairs:
            shown, number = f"{name} ({number})", number + 1
        pairs[shown] = _masked(value, masker)
    return pairs


def _masked(value: Any, masker: Masker) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, str):
        return masker.text(value)
    if isinstance(value, Mapping):
        return masked(value, masker)
    if isinstance(value, list | tuple):
        return [_masked(item, masker) for item in value]
    return value


def _host_words(hosts: Mapping[str, str]) -> dict[str, str]:
    """Return lower-case word -> label for host names and what stands before their first dot."""
    words: dict[str, str] = {}
    for host, label in hosts.items():
        for word in (host, host.split(".")[0]):
            if host != label and _is_distinctive(word):
                words.setdefault(word.lower(), label)
    return words


def _is_distinctive(host: str) -> bool:
    """Return whether a host name is safe to replace: ``modal`` may be part of any name."""
    return len(host) >= 5 and any(char.isdigit() or char in ".-" for char in host)  # noqa: PLR2004
