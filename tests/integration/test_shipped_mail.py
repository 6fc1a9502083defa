"""send_email against a real SMTP server: plain, STARTTLS, TLS from the start, with and without a password."""

from __future__ import annotations

import datetime as dt
import ssl
from collections.abc import Iterator
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, Envelope, LoginPassword, Session
from services import free_port
from shipped import failure, run


class Mailbox:
    """Keeps what arrives, and refuses addresses that begin with ``nobody``."""

    def __init__(self) -> None:
        self.envelopes: list[Envelope] = []
        self.logins: list[tuple[bytes, bytes]] = []

    async def handle_RCPT(  # noqa: N802
        self, server: Any, session: Session, envelope: Envelope, address: str, options: Any
    ) -> str:
        if address.startswith("nobody"):
            return "550 no such user here"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Session, envelope: Envelope) -> str:  # noqa: N802
        self.envelopes.append(envelope)
        return "250 OK"

    def authenticate(self, server: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> AuthResult:
        assert isinstance(data, LoginPassword)
        self.logins.append((data.login, data.password))
        return AuthResult(success=data.password == b"mail-password", handled=False)

    def message(self) -> EmailMessage:
        [envelope] = self.envelopes
        assert isinstance(envelope.content, bytes)
        found = message_from_bytes(envelope.content, policy=policy.default)
        assert isinstance(found, EmailMessage)
        return found


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 and localhost, its own authority."""
    import ipaddress

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = dt.datetime.now(dt.UTC)
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    folder = tmp_path_factory.mktemp("tls")
    (folder / "cert.pem").write_bytes(built.public_bytes(serialization.Encoding.PEM))
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "key.pem").write_bytes(pem)
    return folder / "cert.pem", folder / "key.pem"


def serve(mailbox: Mailbox, **options: Any) -> Iterator[int]:
    port = free_port()
    controller = Controller(mailbox, hostname="127.0.0.1", port=port, **options)
    controller.start()
    yield port
    controller.stop()


@pytest.fixture
def mailbox() -> Mailbox:
    return Mailbox()


@pytest.fixture
def plain(mailbox: Mailbox) -> Iterator[dict[str, str]]:
    for port in serve(mailbox):
        yield {"SMTP_HOST": "127.0.0.1", "SMTP_PORT": str(port), "SMTP_FROM": "机器人 <bot@example.com>"}


def server_context(certificate: tuple[Path, Path]) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*certificate)
    return context


CANCELLED = {"to": ["team@example.com"], "subject": "会议取消", "body": "今天下午三点的会议取消。"}


class TestMessage:
    def test_arrives_as_it_was_written(self, mailbox: Mailbox, plain: dict[str, str], tmp_path: Path) -> None:
        got = run("send_email", CANCELLED, folder=tmp_path, environment=plain)
        message = mailbox.message()
        assert got == {"accepted": ["team@example.com"], "message_id": message["Message-ID"]}
        assert (message["Subject"], message["To"]) == ("会议取消", "team@example.com")
        assert message["From"].addresses[0].display_name == "机器人"
        assert message["Message-ID"].endswith("@example.com>")
        assert message.get_content().strip() == "今天下午三点的会议取消。"
        assert mailbox.envelopes[0].mail_from == "bot@example.com"

    def test_reaches_everybody_and_hides_blind_copies(self, mailbox, plain, tmp_path: Path) -> None:
        arguments = CANCELLED | {"to": ["a@example.com", "b@example.com"], "cc": ["c@example.com"],
                                 "bcc": ["d@example.com", "a@example.com"], "reply_to": "r@example.com"}  # fmt: skip
        got = run("send_email", arguments, folder=tmp_path, environment=plain)
        assert got["accepted"] == [f"{letter}@example.com" for letter in "abcd"]
        assert mailbox.envelopes[0].rcpt_tos == got["accepted"]
        message = mailbox.message()
        assert (message["To"], message["Cc"]) == ("a@example.com, b@example.com", "c@example.com")
        assert message["Reply-To"] == "r@example.com"
        assert "d@example.com" not in message.as_string()

    def test_html_brings_a_plain_text(self, mailbox, plain, tmp_path: Path) -> None:
        arguments = CANCELLED | {"body": "<h1>取消</h1><p>三点 <script>x()</script>的会</p>", "html": True}
        run("send_email", arguments, folder=tmp_path, environment=plain)
        body = mailbox.message().get_body(("plain",))
        assert body is not None
        assert body.get_content().split() == ["#", "取消", "三点", "的会"]
        assert mailbox.message().get_body(("html",)).get_content().startswith("<h1>取消</h1>")

    def test_attaches_files(self, mailbox, plain, tmp_path: Path) -> None:
        (tmp_path / "报告.pdf").write_bytes(b"%PDF-1.4 x")
        (tmp_path / "n.txt").write_bytes("文".encode("gb18030"))
        run("send_email", CANCELLED | {"attachments": ["报告.pdf", "n.txt"]}, folder=tmp_path, environment=plain)
        first, second = mailbox.message().iter_attachments()
        assert (first.get_filename(), first.get_content_type()) == ("报告.pdf", "application/pdf")
        assert first.get_content() == b"%PDF-1.4 x"
        assert second.get_content() == "文".encode("gb18030")


class TestRefusals:
    def test_a_refused_recipient_is_named_and_the_others_are_told_of(self, mailbox, plain, tmp_path: Path) -> None:
        arguments = CANCELLED | {"to": ["team@example.com", "nobody@example.com"]}
        said = failure("send_email", arguments, folder=tmp_path, environment=plain)
        assert "nobody@example.com (550 no such user here)" in said
        assert "sent to team@example.com" in said
        assert len(mailbox.envelopes) == 1

    def test_all_refused(self, mailbox, plain, tmp_path: Path) -> None:
        said = failure("send_email", CANCELLED | {"to": ["nobody@example.com"]}, folder=tmp_path, environment=plain)
        assert "550" in said
        assert "sent to" not in said
        assert mailbox.envelopes == []

    @pytest.mark.parametrize("change", [
        {"subject": "a\r\nBcc: thief@example.com"}, {"to": ["a@example.com\r\nBcc: thief@example.com"]},
        {"to": ["no address"]}, {"to": []}, {"reply_to": "x@example.com\nBcc: t@example.com"}, {"to": ["a@b>, <c@d"]},
    ])  # fmt: skip
    def test_headers_cannot_be_smuggled_in(self, change, mailbox, plain, tmp_path: Path) -> None:
        failure("send_email", CANCELLED | change, folder=tmp_path, environment=plain)
        assert mailbox.envelopes == []

    def test_a_body_line_with_a_dot_does_not_end_the_message(self, mailbox, plain, tmp_path: Path) -> None:
        body = "one\r\n.\r\nMAIL FROM:<thief@example.com>\r\n"
        run("send_email", CANCELLED | {"body": body}, folder=tmp_path, environment=plain)
        assert mailbox.message().get_content().splitlines()[:3] == ["one", ".", "MAIL FROM:<thief@example.com>"]

    def test_attachments_stay_inside_the_allowed_folders(self, mailbox, plain, tmp_path: Path) -> None:
        work = tmp_path / "work"
        work.mkdir()
        (tmp_path / "secret.txt").write_text("x")
        (work / "link.txt").symlink_to(tmp_path / "secret.txt")
        for path in ("../secret.txt", "link.txt", "/etc/passwd"):
            said = failure("send_email", CANCELLED | {"attachments": [path]}, folder=work, environment=plain)
            assert "outside the folders" in said
        (work / "big").write_bytes(b"x")
        import os

        os.truncate(work / "big", 21_000_000)
        said = failure("send_email", CANCELLED | {"attachments": ["big"]}, folder=work, environment=plain)
        assert "20 MB in all" in said
        assert mailbox.envelopes == []

    def test_nobody_listens(self, tmp_path: Path) -> None:
        where = {"SMTP_HOST": "127.0.0.1", "SMTP_PORT": str(free_port()), "SMTP_FROM": "a@example.com"}
        assert "no delivery" in failure("send_email", CANCELLED, folder=tmp_path, environment=where)

    def test_says_what_is_not_set(self, tmp_path: Path) -> None:
        said = failure("send_email", CANCELLED, folder=tmp_path)
        assert said.startswith("not_ready")
        assert "SMTP_HOST" in said


class TestTls:
    @pytest.fixture
    def starttls(self, mailbox: Mailbox, certificate: tuple[Path, Path]) -> Iterator[dict[str, str]]:
        for port in serve(mailbox, tls_context=server_context(certificate), require_starttls=True,
                          auth_required=True, authenticator=mailbox.authenticate):  # fmt: skip
            yield {
                "SMTP_HOST": "localhost", "SMTP_PORT": str(port), "SMTP_FROM": "bot@example.com",
                "SMTP_USER": "bot", "SMTP_PASSWORD": "mail-password", "SMTP_CA_FILE": str(certificate[0]),
            }  # fmt: skip

    def test_starttls_with_a_password(self, mailbox, starttls, tmp_path: Path) -> None:
        run("send_email", CANCELLED, folder=tmp_path, environment=starttls)
        assert mailbox.logins == [(b"bot", b"mail-password")]
        assert len(mailbox.envelopes) == 1

    def test_a_certificate_of_unknown_authority_is_refused(self, mailbox, starttls, tmp_path: Path) -> None:
        where = {name: value for name, value in starttls.items() if name != "SMTP_CA_FILE"}
        assert "certificate" in failure("send_email", CANCELLED, folder=tmp_path, environment=where).lower()
        assert mailbox.logins == []

    def test_a_wrong_password_is_told_but_not_shown(self, mailbox, starttls, tmp_path: Path) -> None:
        where = starttls | {"SMTP_PASSWORD": "wrong-password"}
        said = failure("send_email", CANCELLED, folder=tmp_path, environment=where)
        assert "535" in said
        assert "wrong-password" not in said

    def test_tls_from_the_first_byte(self, mailbox, certificate, tmp_path: Path) -> None:
        for port in serve(mailbox, ssl_context=server_context(certificate)):
            where = {"SMTP_HOST": "localhost", "SMTP_PORT": str(port), "SMTP_TLS": "ssl",
                     "SMTP_FROM": "bot@example.com", "SMTP_CA_FILE": str(certificate[0])}  # fmt: skip
            run("send_email", CANCELLED, folder=tmp_path, environment=where)
        assert len(mailbox.envelopes) == 1

    def test_starttls_that_is_demanded_and_not_offered_fails(self, mailbox, plain, tmp_path: Path) -> None:
        failure("send_email", CANCELLED, folder=tmp_path, environment=plain | {"SMTP_TLS": "starttls"})
        assert mailbox.envelopes == []

    def test_a_password_is_never_sent_in_the_clear_to_another_machine(self, monkeypatch, plain, tmp_path) -> None:
        from tooldisco_cli.builtin import mail

        monkeypatch.setattr(mail, "_LOOPBACK", set())
        where = plain | {"SMTP_USER": "bot", "SMTP_PASSWORD": "mail-password"}
        assert "offers no TLS" in failure("send_email", CANCELLED, folder=tmp_path, environment=where)


class TestCalendarInvite:
    def test_can_be_read_by_others_and_sent(self, mailbox, plain, tmp_path: Path) -> None:
        got = run("create_calendar_invite", {
            "path": "review.ics", "title": "季度评审; 第 4, 次", "start": "2027-03-05T14:00", "zone": "Asia/Shanghai",
            "duration_minutes": 90, "organizer": "li@example.com", "attendees": ["han@example.com"],
            "description": "一\n二", "remind_minutes": 15,
        }, folder=tmp_path)  # fmt: skip
        assert (got["start"], got["end"]) == ("2027-03-05T06:00:00Z", "2027-03-05T07:30:00Z")
        lines = (tmp_path / "review.ics").read_bytes().decode().split("\r\n")
        assert lines[0] == "BEGIN:VCALENDAR"
        assert "SUMMARY:季度评审\\; 第 4\\, 次" in lines
        assert "DESCRIPTION:一\\n二" in lines
        assert all(len(line.encode()) <= 75 for line in lines)
        run("send_email", CANCELLED | {"attachments": ["review.ics"]}, folder=tmp_path, environment=plain)
        [attached] = mailbox.message().iter_attachments()
        assert attached.get_content_type() == "text/calendar"
