"""Certificates for a test run, made once with the openssl command.

    ca ── server      localhost, 127.0.0.1, ::1
       └─ client      CN=client
    stranger_ca ── stranger     a client certificate nobody trusts
"""

import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

EC_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
RSA_KEY = ["-newkey", "rsa:2048"]


@dataclass
class Pair:
    cert: Path
    key: Path


class Certs:
    def __init__(self, folder):
        self.folder = folder
        self.ca = self.make_ca("ca")
        self.stranger_ca = self.make_ca("stranger_ca")
        names = "DNS:localhost,IP:127.0.0.1,IP:::1"
        self.server = self.make("server", self.ca, f"subjectAltName={names}")
        self.client = self.make("client", self.ca, "extendedKeyUsage=clientAuth")
        self.stranger = self.make("stranger", self.stranger_ca, "extendedKeyUsage=clientAuth")

    def pair(self, name):
        return Pair(self.folder / f"{name}.crt", self.folder / f"{name}.key")

    def openssl(self, *words):
        command = ["openssl", *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr

    def make_ca(self, name):
        """A self-signed authority."""
        made = self.pair(name)
        self.openssl(
            *["req", "-x509", *EC_KEY, "-nodes"],
            *["-days", "2", "-subj", f"/CN={name}", "-keyout", made.key, "-out", made.cert],
            *["-addext", "keyUsage=critical,keyCertSign,cRLSign"],
        )
        return made

    def make(self, name, issuer, *extensions, days=2, key=EC_KEY):
        """A certificate signed by `issuer`; tests may make more of them."""
        made = self.pair(name)
        request = self.folder / f"{name}.csr"
        settings = self.folder / f"{name}.ext"
        settings.write_text("\n".join(["basicConstraints=CA:FALSE", *extensions]) + "\n")
        self.openssl(
            *["req", *key, "-nodes"],
            *["-subj", f"/CN={name}", "-keyout", made.key, "-out", request],
        )
        self.openssl(
            *["x509", "-req", "-in", request, "-CA", issuer.cert, "-CAkey", issuer.key],
            *["-days", days, "-extfile", settings, "-CAcreateserial", "-out", made.cert],
        )
        return made

    def context(self, client=None, trust=None):
        """A client's ssl context that trusts our CA, with a client certificate if given."""
        context = ssl.create_default_context(cafile=str((trust or self.ca).cert))
        if client:
            context.load_cert_chain(client.cert, client.key)
        return context

    def server_args(self, mutual=False):
        """The server's command line for TLS, with client certificates required if mutual."""
        args = ["--tls-cert-path", self.server.cert, "--tls-key-path", self.server.key]
        return args + (["--tls-client-ca-cert-path", self.ca.cert] if mutual else [])
