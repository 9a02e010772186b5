//! SCRAM for Kafka (RFC 5802, RFC 7677): the client proves that it knows the password without sending it, and the broker proves the same.
//!
//! Read [`Scram`]. Deliberately absent: channel binding, which brokers do not offer, and SASLprep: Kafka uses names and passwords unchanged.

use aws_lc_rs::{digest, hmac, pbkdf2, rand};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Fewer rounds offer no protection (RFC 7677, section 4). More would let a broker block a worker.
const ROUNDS_MIN: u32 = 4_096;
const ROUNDS_MAX: u32 = 1_000_000;

/// The mechanism of a login.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum KafkaMechanism {
    /// Sends the password.
    #[default]
    Plain,
    ScramSha256,
    ScramSha512,
}

impl KafkaMechanism {
    pub const ALL: [Self; 3] = [Self::Plain, Self::ScramSha256, Self::ScramSha512];

    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::ScramSha256 => "SCRAM-SHA-256",
            Self::ScramSha512 => "SCRAM-SHA-512",
        }
    }

    /// `None`: the mechanism needs no proof.
    pub(super) fn hash(self) -> Option<ScramHash> {
        match self {
            Self::Plain => None,
            Self::ScramSha256 => Some(ScramHash { pbkdf2: pbkdf2::PBKDF2_HMAC_SHA256, hmac: hmac::HMAC_SHA256, digest: &digest::SHA256 }),
            Self::ScramSha512 => Some(ScramHash { pbkdf2: pbkdf2::PBKDF2_HMAC_SHA512, hmac: hmac::HMAC_SHA512, digest: &digest::SHA512 }),
        }
    }
}

#[derive(Clone, Copy)]
pub(super) struct ScramHash {
    pbkdf2: pbkdf2::Algorithm,
    hmac: hmac::Algorithm,
    digest: &'static digest::Algorithm,
}

/// Why a broker's message is not valid SCRAM, or does not prove that the broker knows the password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum ScramProblem {
    #[error("the broker's login message cannot be read")]
    Unreadable,
    #[error("the broker's response belongs to another login")]
    Nonce,
    #[error("the broker requests {0} rounds of hashing: expected 4,096 to 1,000,000")]
    Rounds(u32),
    #[error("the broker does not prove that it knows the password")]
    Proof,
}

/// 18 random bytes, as text.
pub(super) fn nonce() -> String {
    let mut bytes = [0; 18];
    // Without random numbers, TLS fails as well. A nonce of zeros would only permit a replay to this client.
    let _ = rand::fill(&mut bytes);
    STANDARD.encode(bytes)
}

/// A login in progress.
pub(super) struct Scram<'a> {
    hash: ScramHash,
    password: &'a str,
    nonce: String,
    /// The first message without its header.
    first: String,
    /// The expected final message of the broker.
    expected: Option<hmac::Tag>,
}

impl<'a> Scram<'a> {
    /// `nonce`: random printable ASCII characters without a comma.
    pub(super) fn new(hash: ScramHash, name: &str, password: &'a str, nonce: String) -> Self {
        let name = name.replace('=', "=3D").replace(',', "=2C");
        Self { hash, password, first: format!("n={name},r={nonce}"), nonce, expected: None }
    }

    /// The first message.
    pub(super) fn first(&self) -> String {
        format!("n,,{}", self.first)
    }

    /// The proof, computed from the broker's response to the first message.
    pub(super) fn prove(&mut self, challenge: &[u8]) -> Result<String, ScramProblem> {
        let challenge = std::str::from_utf8(challenge).map_err(|_| ScramProblem::Unreadable)?;
        let mut parts = challenge.split(',');
        let mut part = |name: &str| parts.next().and_then(|part| part.strip_prefix(name)).ok_or(ScramProblem::Unreadable);
        let (nonce, salt, rounds) = (part("r=")?, part("s=")?, part("i=")?);
        if !nonce.starts_with(&self.nonce) || nonce.len() == self.nonce.len() {
            return Err(ScramProblem::Nonce);
        }
        let salt = STANDARD.decode(salt).map_err(|_| ScramProblem::Unreadable)?;
        let rounds: u32 = rounds.parse().map_err(|_| ScramProblem::Unreadable)?;
        let iterations = std::num::NonZeroU32::new(rounds).filter(|_| (ROUNDS_MIN..=ROUNDS_MAX).contains(&rounds));
        let iterations = iterations.ok_or(ScramProblem::Rounds(rounds))?;
        let mut salted = vec![0; self.hash.digest.output_len()];
        pbkdf2::derive(self.hash.pbkdf2, iterations, &salt, self.password.as_bytes(), &mut salted);
        let salted = hmac::Key::new(self.hash.hmac, &salted);
        let client_key = hmac::sign(&salted, b"Client Key");
        let stored_key = digest::digest(self.hash.digest, client_key.as_ref());
        // "biws" is "n,," in base64.
        let without_proof = format!("c=biws,r={nonce}");
        let signed = format!("{},{challenge},{without_proof}", self.first);
        let signature = hmac::sign(&hmac::Key::new(self.hash.hmac, stored_key.as_ref()), signed.as_bytes());
        let proof: Vec<u8> = client_key.as_ref().iter().zip(signature.as_ref()).map(|(key, signed)| key ^ signed).collect();
        let server_key = hmac::Key::new(self.hash.hmac, hmac::sign(&salted, b"Server Key").as_ref());
        self.expected = Some(hmac::sign(&server_key, signed.as_bytes()));
        Ok(format!("{without_proof},p={}", STANDARD.encode(proof)))
    }

    /// Checks that the broker knows the password, too, from its final message.
    pub(super) fn verify(&self, last: &[u8]) -> Result<(), ScramProblem> {
        let signature = last.strip_prefix(b"v=").ok_or(ScramProblem::Unreadable)?;
        let signature =
            STANDARD.decode(signature.split(|byte| *byte == b',').next().unwrap_or_default()).map_err(|_| ScramProblem::Unreadable)?;
        let is_right = self.expected.as_ref().is_some_and(|expected| expected.as_ref() == signature);
        if is_right { Ok(()) } else { Err(ScramProblem::Proof) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7677, section 3.
    #[test]
    fn the_login_of_the_rfc_is_computed_and_verified() {
        let hash = KafkaMechanism::ScramSha256.hash().unwrap();
        let mut scram = Scram::new(hash, "user", "pencil", "rOprNGfwEbeRWgbNEkqO".to_owned());
        assert_eq!(scram.first(), "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
        let nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
        let proof = scram.prove(format!("r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096").as_bytes()).unwrap();
        assert_eq!(proof, format!("c=biws,r={nonce},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="));
        assert_eq!(scram.verify(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="), Ok(()));
        assert_eq!(scram.verify(b"v=7rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="), Err(ScramProblem::Proof));
        assert_eq!(scram.verify(b"e=other-error"), Err(ScramProblem::Unreadable));
    }

    #[test]
    fn invalid_requests_of_a_broker_are_refused() {
        let mut scram = Scram::new(KafkaMechanism::ScramSha512.hash().unwrap(), "a,b=c", "p", "nonce".to_owned());
        assert_eq!(scram.first(), "n,,n=a=2Cb=3Dc,r=nonce");
        for (challenge, problem) in [
            ("r=noncE1,s=AAAA,i=4096", ScramProblem::Nonce),
            ("r=nonce,s=AAAA,i=4096", ScramProblem::Nonce),
            ("r=nonce1,s=AAAA,i=1", ScramProblem::Rounds(1)),
            ("r=nonce1,s=AAAA,i=4000000000", ScramProblem::Rounds(4_000_000_000)),
            ("r=nonce1,s=?,i=4096", ScramProblem::Unreadable),
            ("r=nonce1,i=4096", ScramProblem::Unreadable),
            ("", ScramProblem::Unreadable),
        ] {
            assert_eq!(scram.prove(challenge.as_bytes()), Err(problem), "{challenge}");
        }
    }
}
