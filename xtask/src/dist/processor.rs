//! The processors that a release has packages for, each with the names that other formats give it.

use std::env;

use clap::ValueEnum;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Processor {
    #[value(name = "x86_64")]
    X86_64,
    #[value(name = "aarch64")]
    Aarch64,
}

impl Processor {
    pub(super) const ALL: [Self; 2] = [Self::X86_64, Self::Aarch64];

    /// The one of this machine, whose programs need no emulation.
    pub(super) fn own() -> Option<Self> {
        Self::ALL.into_iter().find(|processor| processor.name() == env::consts::ARCH)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }

    /// The target of the compiler. x86-64 is linked statically against glibc, which every build machine has; the other one against the musl of zig.
    pub(super) fn triple(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64-unknown-linux-gnu",
            Self::Aarch64 => "aarch64-unknown-linux-musl",
        }
    }

    /// The name in Go, which Debian's packages and container images use, too.
    pub(super) fn go_name(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Aarch64 => "arm64",
        }
    }

    /// The name in Node, `process.arch`.
    pub(super) fn node_name(self) -> &'static str {
        match self {
            Self::X86_64 => "x64",
            Self::Aarch64 => "arm64",
        }
    }

    /// `e_machine` of its programs (System V ABI, processor supplements).
    pub(super) fn elf_machine(self) -> u64 {
        match self {
            Self::X86_64 => 62,
            Self::Aarch64 => 183,
        }
    }
}
