"""The part of sh that the phone understands, as a tree.

    list      pipelines joined by ; newline && ||
    pipeline  commands joined by |
    command   words and redirections, or `if LIST; then LIST; [elif ...] [else LIST;] fi`, or `for NAME in WORDS; do LIST; done`
    word      plain text, '...', "...", \\x, $NAME ${NAME} $? $#, and * ? [...] where unquoted
    redirect  < > >> 2> 2>> 2>&1 >&2 &>

Everything else that sh knows (command substitution, subshells, background jobs, here-documents, functions, arithmetic) raises
`Unsupported` before anything was run. Parsing never executes anything.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, Literal, NoReturn, TypeAlias

MAX_LINE: Final = 256 * 1024
MAX_NESTING: Final = 16
NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=")
RESERVED: Final = frozenset(["then", "elif", "else", "fi", "do", "done"])
REFUSED: Final = frozenset(["while", "until", "case", "esac", "function", "select", "{", "}", "!", "[["])


class ShellSyntaxError(ValueError):
    """A line that sh would refuse, too."""


class Unsupported(ShellSyntaxError):
    """A part of sh that the simulated phone has not."""


@dataclass(frozen=True, slots=True)
class Literally:
    """Text as it stands. `quoted` text is not a pattern and is never split."""

    text: str
    quoted: bool


@dataclass(frozen=True, slots=True)
class Variable:
    name: str
    quoted: bool


@dataclass(frozen=True, slots=True)
class Word:
    parts: tuple[Literally | Variable, ...]

    @property
    def plain(self) -> str | None:
        """The text of a word that is nothing but unquoted text: only such a one can be a keyword."""
        if len(self.parts) == 1 and isinstance(part := self.parts[0], Literally) and not part.quoted:
            return part.text
        return None


@dataclass(frozen=True, slots=True)
class Redirect:
    """`fd` 0, 1, 2, or 12 for both outputs. `target` None with `to` means a copy of that descriptor."""

    fd: int
    mode: Literal["<", ">", ">>"]
    target: Word | None = None
    to: int | None = None


@dataclass(frozen=True, slots=True)
class Simple:
    words: tuple[Word, ...]
    assignments: tuple[tuple[str, Word], ...] = ()
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class If:
    branches: tuple[tuple[List, List], ...]
    otherwise: List | None = None
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class For:
    name: str
    words: tuple[Word, ...]
    body: List
    redirects: tuple[Redirect, ...] = ()


Command: TypeAlias = Simple | If | For


@dataclass(frozen=True, slots=True)
class List:
    """Pipelines; each with how it is joined to the one before: always, if that succeeded, if it failed."""

    items: tuple[tuple[Literal[";", "&&", "||"], tuple[Command, ...]], ...] = ()


Token: TypeAlias = Word | Redirect | str
"""A word, a redirection, or one of the operators ; newline && || | (as text)."""


def parse(line: str) -> List:
    """The tree of a command line. Raises `ShellSyntaxError`, or `Unsupported`."""
    if len(line) > MAX_LINE:
        raise ShellSyntaxError(f"a command line of {len(line)} characters, more than {MAX_LINE}")
    parser = _Parser(_Lexer(line).tokens())
    return parser.whole()


def _no(what: str) -> NoReturn:
    raise Unsupported(f"{what}: not simulated by this phone")


@dataclass
class _Lexer:
    line: str
    at: int = 0
    found: list[Token] = field(default_factory=list)

    def tokens(self) -> list[Token]:
        while self.at < len(self.line):
            if not self._step():
                break
        return self.found

    def _step(self) -> bool:
        line, at = self.line, self.at
        letter = line[at]
        if letter in " \t\r":
            self.at += 1
        elif line.startswith("\\\n", at):
            self.at += 2
        elif letter == "#":
            end = line.find("\n", at)
            self.at = len(line) if end < 0 else end
        elif line.startswith(("&&", "||"), at):
            self._operator(line[at : at + 2])
        elif line.startswith(("&>", ">&", "<", ">"), at):
            self._redirect(None)
        elif letter == "&":
            _no("a background job (&)")
        elif line.startswith(";;", at):
            _no("case (;;)")
        elif letter in ";\n|":
            self._operator(letter)
        elif letter in "()":
            _no("a subshell or function ( )")
        elif letter in "012" and line[at + 1 : at + 2] in ("<", ">"):
            self.at += 1
            self._redirect(int(letter))
        else:
            self.found.append(self._word())
        return True

    def _operator(self, text: str) -> None:
        self.found.append(text)
        self.at += len(text)

    def _redirect(self, fd: int | None) -> None:
        line, at = self.line, self.at
        if line.startswith("<<", at):
            _no("a here-document (<<)")
        if line.startswith(("<(", ">(", "<>", ">|"), at):
            _no(f"the redirection {line[at : at + 2]}")
        if line.startswith("&>", at):
            self.at += 2
            self.found.append(Redirect(12, ">", self._target()))
            return
        if line.startswith(">&", at):
            to = line[at + 2 : at + 3]
            if to not in ("1", "2"):
                _no("a redirection to another descriptor")
            self.at += 3
            self.found.append(Redirect(1 if fd is None else fd, ">", to=int(to)))
            return
        mode: Literal["<", ">", ">>"] = ">>" if line.startswith(">>", at) else ">" if line[at] == ">" else "<"
        self.at += len(mode)
        default = 0 if mode == "<" else 1
        self.found.append(Redirect(default if fd is None else fd, mode, self._target()))

    def _target(self) -> Word:
        while self.at < len(self.line) and self.line[self.at] in " \t":
            self.at += 1
        if self.at >= len(self.line) or self.line[self.at] in ";|&<>()\n":
            raise ShellSyntaxError("a redirection without a file")
        return self._word()

    def _word(self) -> Word:
        parts: list[Literally | Variable] = []
        while self.at < len(self.line):
            letter = self.line[self.at]
            if letter in " \t\r\n;|&<>()":
                break
            if letter == "'":
                end = self.line.find("'", self.at + 1)
                if end < 0:
                    raise ShellSyntaxError("no closing quote")
                parts.append(Literally(self.line[self.at + 1 : end], True))
                self.at = end + 1
            elif letter == '"':
                self.at += 1
                self._double(parts)
            elif letter == "`":
                _no("command substitution (`...`)")
            elif letter == "$":
                parts.append(self._dollar(quoted=False))
            elif letter == "\\":
                following = self.line[self.at + 1 : self.at + 2]
                if following != "\n":
                    parts.append(Literally(following or "\\", True))
                self.at += 2
            else:
                end = self.at
                while end < len(self.line) and self.line[end] not in " \t\r\n;|&<>()'\"`$\\":
                    end += 1
                parts.append(Literally(self.line[self.at : end], False))
                self.at = end
        return Word(tuple(parts))

    def _double(self, parts: list[Literally | Variable]) -> None:
        """What stands between double quotes."""
        text = ""
        while True:
            if self.at >= len(self.line):
                raise ShellSyntaxError("no closing quote")
            letter = self.line[self.at]
            if letter == '"':
                self.at += 1
                parts.append(Literally(text, True))
                return
            if letter == "`":
                _no("command substitution (`...`)")
            if letter == "$":
                parts.append(Literally(text, True))
                text = ""
                parts.append(self._dollar(quoted=True))
            elif letter == "\\" and self.line[self.at + 1 : self.at + 2] in ('"', "\\", "$", "`", "\n"):
                text += self.line[self.at + 1].replace("\n", "")
                self.at += 2
            else:
                text += letter
                self.at += 1

    def _dollar(self, *, quoted: bool) -> Literally | Variable:
        after = self.line[self.at + 1 : self.at + 2]
        if after == "(":
            _no("command substitution $(...)")
        if not quoted and after in ("'", '"'):
            _no(f"the quotes ${after}...{after}")
        if after == "{":
            end = self.line.find("}", self.at)
            name = self.line[self.at + 2 : end] if end > 0 else ""
            if not NAME.fullmatch(name):
                _no("a parameter expansion other than ${NAME}")
            self.at = end + 1
            return Variable(name, quoted)
        if after in ("?", "#", "$", "!", "@", "*", "-") or after.isdigit():
            if after not in ("?", "#"):
                _no(f"the parameter ${after}")
            self.at += 2
            return Variable(after, quoted)
        found = NAME.match(self.line, self.at + 1)
        if found is None:
            self.at += 1
            return Literally("$", True)
        self.at = found.end()
        return Variable(found.group(), quoted)


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    def whole(self) -> List:
        tree = self._list(frozenset())
        if self._at < len(self._tokens):
            raise ShellSyntaxError(f"unexpected {self._told()}")
        return tree

    def _peek(self) -> Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _keyword(self) -> str | None:
        token = self._peek()
        return token.plain if isinstance(token, Word) else None

    def _told(self) -> str:
        token = self._peek()
        if token is None:
            return "end of line"
        return repr(token if isinstance(token, str) else self._keyword() or "word")[:40]

    def _skip(self, *operators: str) -> bool:
        token, found = self._peek(), False
        while isinstance(token, str) and token in operators:
            self._at += 1
            token, found = self._peek(), True
        return found

    def _list(self, stops: frozenset[str]) -> List:
        items: list[tuple[Literal[";", "&&", "||"], tuple[Command, ...]]] = []
        joined: Literal[";", "&&", "||"] = ";"
        self._skip("\n")
        while (token := self._peek()) is not None and self._keyword() not in stops:
            if isinstance(token, str):
                raise ShellSyntaxError(f"unexpected {token!r}")
            items.append((joined, self._pipeline()))
            after = self._peek()
            if after is None:
                break
            if after in ("&&", "||"):
                joined = "&&" if after == "&&" else "||"
                self._at += 1
                self._skip("\n")
                if self._peek() is None:
                    raise ShellSyntaxError(f"nothing after {after}")
            elif after in (";", "\n"):
                self._at += 1
                joined = ";"
                self._skip("\n")
            else:
                raise ShellSyntaxError(f"unexpected {self._told()}")
        return List(tuple(items))

    def _pipeline(self) -> tuple[Command, ...]:
        commands = [self._command()]
        while self._peek() == "|":
            self._at += 1
            self._skip("\n")
            commands.append(self._command())
        return tuple(commands)

    def _command(self) -> Command:
        keyword = self._keyword()
        if keyword in REFUSED:
            _no(f"`{keyword}`")
        if keyword in RESERVED:
            raise ShellSyntaxError(f"unexpected {keyword!r}")
        if keyword in ("if", "for"):
            self._depth += 1
            if self._depth > MAX_NESTING:
                raise ShellSyntaxError("nested too deeply")
            self._at += 1
            found = self._if() if keyword == "if" else self._for()
            self._depth -= 1
            return found
        return self._simple()

    def _simple(self) -> Simple:
        words: list[Word] = []
        assignments: list[tuple[str, Word]] = []
        redirects: list[Redirect] = []
        while not isinstance(token := self._peek(), str) and token is not None:
            self._at += 1
            if isinstance(token, Redirect):
                redirects.append(token)
                continue
            first = token.parts[0] if token.parts else None
            if (
                not words
                and isinstance(first, Literally)
                and not first.quoted
                and (found := _ASSIGNMENT.match(first.text))
            ):
                rest = Word((Literally(first.text[found.end() :], True), *token.parts[1:]))
                assignments.append((found.group(1), rest))
            else:
                words.append(token)
        if not words and not assignments and not redirects:
            raise ShellSyntaxError(f"unexpected {self._told()}")
        return Simple(tuple(words), tuple(assignments), tuple(redirects))

    def _expect(self, keyword: str) -> None:
        if self._keyword() != keyword:
            raise ShellSyntaxError(f"{keyword!r} expected, not {self._told()}")
        self._at += 1

    def _if(self) -> If:
        branches: list[tuple[List, List]] = []
        otherwise: List | None = None
        while True:
            condition = self._list(frozenset(["then"]))
            self._expect("then")
            branches.append((condition, self._list(frozenset(["elif", "else", "fi"]))))
            keyword = self._keyword()
            if keyword == "elif":
                self._at += 1
                continue
            if keyword == "else":
                self._at += 1
                otherwise = self._list(frozenset(["fi"]))
            self._expect("fi")
            return If(tuple(branches), otherwise, self._redirects())

    def _for(self) -> For:
        name = self._keyword()
        if name is None or not NAME.fullmatch(name):
            raise ShellSyntaxError("`for` without a name")
        self._at += 1
        self._expect("in")
        words: list[Word] = []
        while isinstance(token := self._peek(), Word):
            words.append(token)
            self._at += 1
        if not self._skip(";", "\n"):
            raise ShellSyntaxError("`for` without `do`")
        self._expect("do")
        body = self._list(frozenset(["done"]))
        self._expect("done")
        return For(name, tuple(words), body, self._redirects())

    def _redirects(self) -> tuple[Redirect, ...]:
        found: list[Redirect] = []
        while isinstance(token := self._peek(), Redirect):
            found.append(token)
            self._at += 1
        return tuple(found)
