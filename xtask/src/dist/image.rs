//! The container image as an archive that `docker load` and `podman load` read: the OCI image layout (opencontainers/image-spec,
//! image-layout.md), made without a daemon. One layer: the binary, certificates of authorities if this machine has them, and a folder for runs.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::release::Release;
use crate::process;

/// Of Debian; whoever tests over TLS needs authorities to trust.
const AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";
/// `nobody` of Debian.
const USER: &str = "65534:65534";

pub(super) fn write(release: &Release) -> Result<()> {
    let work = release.folder.join("oci");
    let (root, layout) = (work.join("root"), work.join("layout"));
    for folder in ["usr/bin", "etc/ssl/certs", "tmp"] {
        fs::create_dir_all(root.join(folder))?;
    }
    fs::create_dir_all(layout.join("blobs/sha256"))?;
    fs::copy(release.tree().join("loadstone"), root.join("usr/bin/loadstone"))?;
    if Path::new(AUTHORITIES).exists() {
        fs::copy(AUTHORITIES, root.join(AUTHORITIES.trim_start_matches('/')))?;
    }
    let layer = work.join("layer.tar");
    release.tar(&root, &["etc", "tmp", "usr"], &layer)?;
    let layer = Blob::keep(&layout, &layer)?;
    let config = config(&layer.digest);
    let config = Blob::keep_json(&work, &layout, &config)?;
    let manifest = manifest(&config, &layer);
    let manifest = Blob::keep_json(&work, &layout, &manifest)?;
    fs::write(layout.join("oci-layout"), "{\"imageLayoutVersion\":\"1.0.0\"}")?;
    fs::write(layout.join("index.json"), index(&manifest, &release.version).to_string())?;
    let archive = release.folder.join(format!("loadstone-{}-image.tar", release.version));
    release.tar(&layout, &["blobs", "index.json", "oci-layout"], &archive)?;
    Ok(fs::remove_dir_all(work)?)
}

/// A file of the layout, known by its digest.
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

fn config(layer: &str) -> Value {
    json!({
        "architecture": "amd64", "os": "linux",
        "config": {
            "User": USER, "WorkingDir": "/work", "Entrypoint": ["/usr/bin/loadstone"], "Cmd": ["--help"],
            // The image itself is read-only: runs go where a volume is mounted, or nowhere.
            "Env": ["PATH=/usr/bin", format!("SSL_CERT_FILE={AUTHORITIES}"), "HOME=/tmp"],
        },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{layer}")] },
    })
}

fn manifest(config: &Blob, layer: &Blob) -> Value {
    json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config.described("application/vnd.oci.image.config.v1+json"),
        "layers": [layer.described("application/vnd.oci.image.layer.v1.tar")],
    })
}

fn index(manifest: &Blob, version: &str) -> Value {
    let mut described = manifest.described("application/vnd.oci.image.manifest.v1+json");
    described["annotations"] = json!({ "org.opencontainers.image.ref.name": format!("loadstone:{version}") });
    json!({ "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [described] })
}
