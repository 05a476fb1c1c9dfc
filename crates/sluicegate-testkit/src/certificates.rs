//! Certificates for a server with TLS, created for each test.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

/// A certificate authority of a test, and the files it signed.
pub(crate) struct Certificates {
    pub(crate) authority: String,
    certificate: String,
    key: String,
}

impl Certificates {
    /// An authority, and a certificate of a server on this machine.
    pub(crate) fn issue() -> Self {
        let mut authority =
            CertificateParams::new(Vec::new()).expect("no names, so none that could be wrong");
        authority.distinguished_name.push(DnType::CommonName, "Sluicegate testkit");
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(authority, new_key())
            .expect("an authority can sign its own certificate");
        let key = new_key();
        let certificate =
            CertificateParams::new(vec!["localhost".to_owned(), "127.0.0.1".to_owned()])
                .and_then(|server| server.signed_by(&key, &authority))
                .expect("an authority can sign a certificate");
        Self {
            authority: authority.pem(),
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        }
    }

    /// Writes them to `folder`, and returns the lines of a configuration that refer to them.
    pub(crate) fn write_to(&self, folder: &Path) -> String {
        let mut lines = String::from("tls-auth-clients no\n");
        for (setting, file, pem) in [
            ("tls-ca-cert-file", "authority.pem", &self.authority),
            ("tls-cert-file", "certificate.pem", &self.certificate),
            ("tls-key-file", "key.pem", &self.key),
        ] {
            fs::write(folder.join(file), pem).expect("the server's folder can be written to");
            let _ = writeln!(lines, "{setting} {}", folder.join(file).display());
        }
        lines
    }
}

fn new_key() -> KeyPair {
    KeyPair::generate().expect("a key can be made")
}
