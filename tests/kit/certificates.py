"""Certificates for tests of TLS, made for the day."""

import datetime as dt
import ipaddress

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

_HERE = (x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1")))


class Authority:
    """Signs certificates of this machine that hold for a day."""

    def __init__(self, folder, name="authority"):
        self.folder = folder
        self.name = None
        self.key = None
        self.file, _ = self.signed(name, authority=True)

    def signed(self, name, *, authority=False, password=None, days=1):
        """Files with a certificate for localhost and its key; with days below 0, one that has expired."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        now = dt.datetime.now(dt.UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self.name or subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(days=9))
            .not_valid_after(now + dt.timedelta(days=days))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName(_HERE), critical=False)
            .sign(self.key or key, hashes.SHA256())
        )
        if authority:
            self.name, self.key = subject, key
        locked = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
        files = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        files[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        files[1].write_bytes(
            key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, locked)
        )
        return files
