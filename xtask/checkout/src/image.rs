//! A container image as an archive that `docker load`, `podman load` and `ctr images import` read, written without a daemon.
//!
//! It is an OCI image layout (opencontainers/image-spec, image-layout.md) with a `manifest.json`, as `docker save` writes it. `docker load` reads
//! nothing else unless containerd stores the engine's images, which is not the default before Docker 29 (moby, image/tarexport/load.go).

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::archive::tar;
use crate::process;

/// The path on Debian; a test over TLS needs authorities to trust.
const AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";
/// `nobody` of Debian.
const USER: &str = "65534:65534";

/// The binary's path in an image of Loadstone.
pub const LOADSTONE: &str = "/usr/bin/loadstone";

/// Creates a folder with the files of an image of Loadstone.
pub fn lay_out(root: &Path, binary: &Path) -> Result<()> {
    for folder in ["usr/bin", "etc/ssl/certs", "tmp"] {
        fs::create_dir_all(root.join(folder))?;
    }
    // Every user writes to it. A file system that is mounted there takes over its mode.
    fs::set_permissions(root.join("tmp"), Permissions::from_mode(0o1777))?;
    fs::copy(binary, root.join(LOADSTONE.trim_start_matches('/')))?;
    if Path::new(AUTHORITIES).exists() {
        fs::copy(AUTHORITIES, root.join(AUTHORITIES.trim_start_matches('/')))?;
    }
    Ok(())
}

/// An image of one layer.
pub struct Image<'a> {
    /// The name to pull it by: `loadstone:0.1.0`.
    pub name: &'a str,
    /// The processor of its programs, by Go's name: `amd64`.
    pub architecture: &'a str,
    /// The folder with its files.
    pub root: &'a Path,
    /// The program that a container of it runs.
    pub entry: &'a str,
    /// When it was created, and the time of all its files, in seconds since 1970.
    pub time: &'a str,
}

impl Image<'_> {
    /// `work`: a folder for intermediate files.
    pub fn write(&self, work: &Path, archive: &Path) -> Result<()> {
        let layout = work.join("layout");
        fs::create_dir_all(layout.join("blobs/sha256"))?;
        let mut entries = Vec::new();
        for entry in fs::read_dir(self.root)? {
            entries.push(entry?.file_name().to_string_lossy().into_owned());
        }
        entries.sort();
        let layer = work.join("layer.tar");
        tar(self.time, self.root, &entries.iter().map(String::as_str).collect::<Vec<_>>(), &layer)?;
        let layer = Blob::keep(&layout, &layer)?;
        let config = Blob::keep_json(work, &layout, &self.config(&layer.digest)?)?;
        let manifest = Blob::keep_json(work, &layout, &manifest(&config, &layer))?;
        fs::write(layout.join("oci-layout"), "{\"imageLayoutVersion\":\"1.0.0\"}")?;
        fs::write(layout.join("index.json"), self.index(&manifest).to_string())?;
        fs::write(layout.join("manifest.json"), self.docker_manifest(&config, &layer).to_string())?;
        tar(self.time, &layout, &["blobs", "index.json", "manifest.json", "oci-layout"], archive)
    }

    fn config(&self, layer: &str) -> Result<Value> {
        let seconds = self.time.parse().with_context(|| format!("`{}` is no time in seconds", self.time))?;
        // Without it, `docker images` shows an age of half a century (opencontainers/image-spec, config.md).
        let created = jiff::Timestamp::from_second(seconds)?.to_string();
        Ok(json!({
            "created": created, "architecture": self.architecture, "os": "linux",
            "config": {
                "User": USER, "WorkingDir": "/work", "Entrypoint": [self.entry], "Cmd": ["--help"],
                // The image is read-only: runs are only kept if a volume is mounted.
                "Env": ["PATH=/usr/bin", format!("SSL_CERT_FILE={AUTHORITIES}"), "HOME=/tmp"],
            },
            "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{layer}")] },
            // One entry for each layer.
            "history": [{ "created": created, "created_by": "cargo xtask" }],
        }))
    }

    fn index(&self, manifest: &Blob) -> Value {
        let mut described = manifest.described("application/vnd.oci.image.manifest.v1+json");
        // containerd's annotation has the full name, with the registry that other tools omit.
        let full = if self.name.contains('/') { self.name.to_owned() } else { format!("docker.io/library/{}", self.name) };
        described["annotations"] = json!({ "org.opencontainers.image.ref.name": self.name, "io.containerd.image.name": full });
        json!({ "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [described] })
    }

    /// Paths in the archive.
    fn docker_manifest(&self, config: &Blob, layer: &Blob) -> Value {
        let path = |blob: &Blob| format!("blobs/sha256/{}", blob.digest);
        json!([{ "Config": path(config), "RepoTags": [self.name], "Layers": [path(layer)] }])
    }
}

/// A file of the layout, identified by its digest.
struct Blob {
    digest: String,
    bytes: u64,
}

impl Blob {
    fn keep(layout: &Path, file: &Path) -> Result<Self> {
        let sum = process::output(std::process::Command::new("sha256sum").arg(file))?;
        let digest = sum.split_whitespace().next().context("sha256sum wrote nothing")?.to_owned();
        let bytes = fs::metadata(file)?.len();
        fs::rename(file, layout.join("blobs/sha256").join(&digest))?;
        Ok(Self { digest, bytes })
    }

    fn keep_json(work: &Path, layout: &Path, value: &Value) -> Result<Self> {
        let file = work.join("blob.json");
        fs::write(&file, value.to_string())?;
        Self::keep(layout, &file)
    }

    fn described(&self, media_type: &str) -> Value {
        json!({ "mediaType": media_type, "digest": format!("sha256:{}", self.digest), "size": self.bytes })
    }
}

fn manifest(config: &Blob, layer: &Blob) -> Value {
    json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config.described("application/vnd.oci.image.config.v1+json"),
        "layers": [layer.described("application/vnd.oci.image.layer.v1.tar")],
    })
}
