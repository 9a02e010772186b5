//! `crypto.subtle`. The expected values are test vectors of the algorithms' standards, and signatures of OpenSSL.

use std::fmt::Write;
use std::process::Command;

use loadstone_engine::IterationEnd;
use loadstone_metrics::Outcome;

use crate::harness::{Bench, folder};

/// What a script prints that begins with these helpers.
fn printed(body: &str) -> Vec<String> {
    let script = format!(
        "const s = crypto.subtle;
         const bytes = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (byte) => parseInt(byte, 16));
         const hex = (data) => Array.from(new Uint8Array(data), (byte) => byte.toString(16).padStart(2, '0')).join('');
         const text = (data) => String.fromCharCode(...new Uint8Array(data));
         const refused = async (made) => {{ try {{ await made; return 'no error'; }} catch (error) {{ return error.name; }} }};
         const row = (...values) => console.log(values.join(' '));
         const data = bytes('68656c6c6f');
         export default async function () {{ {body} }}"
    );
    let bench = Bench::new(&script);
    let mut user = bench.user();
    assert_eq!(bench.run(&mut user, 0), IterationEnd::Ended(Outcome::Passed), "{:?}", bench.printed());
    bench.printed()
}

#[test]
fn aes_gives_the_values_of_nists_vectors() {
    // NIST SP 800-38A, F.2.1 and F.5.1 (first block), and the GCM specification's test case 4.
    let key = "2b7e151628aed2a6abf7158809cf4f3c";
    let block = "6bc1bee22e409f96e93d7e117393172a";
    let lines = printed(&format!(
        "const of = (name) => s.importKey('raw', bytes('{key}'), name, true, ['encrypt', 'decrypt']);
         const cbc = {{ name: 'AES-CBC', iv: bytes('000102030405060708090a0b0c0d0e0f') }};
         const sealed = await s.encrypt(cbc, await of('AES-CBC'), bytes('{block}'));
         row(hex(sealed).slice(0, 32), hex(await s.decrypt(cbc, await of('AES-CBC'), sealed)));
         const ctr = {{ name: 'aes-ctr', counter: bytes('f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff'), length: 128 }};
         row(hex(await s.encrypt(ctr, await of('AES-CTR'), bytes('{block}'))));
         const gcm = {{ name: 'AES-GCM', iv: bytes('cafebabefacedbaddecaf888'), additionalData: bytes('feedfacedeadbeeffeedfacedeadbeefabaddad2') }};
         const gcmKey = await s.importKey('raw', bytes('feffe9928665731c6d6a8f9467308308'), 'AES-GCM', true, ['encrypt', 'decrypt']);
         const plain = bytes('d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39');
         const tagged = await s.encrypt(gcm, gcmKey, plain);
         row(hex(tagged).slice(-32), hex(await s.decrypt(gcm, gcmKey, tagged)) === hex(plain));
         const short = {{ ...gcm, tagLength: 96 }};
         const shorter = await s.encrypt(short, gcmKey, plain);
         row(hex(shorter).slice(-24), hex(await s.decrypt(short, gcmKey, shorter)) === hex(plain));
         const changed = new Uint8Array(shorter); changed[0] ^= 1;
         row(await refused(s.decrypt(short, gcmKey, changed)), await refused(s.decrypt(cbc, await of('AES-CBC'), sealed.slice(0, 16))),
             await refused(s.encrypt(cbc, await of('AES-CBC'), new Uint8Array(0))), await refused(s.encrypt(cbc, gcmKey, plain)));"
    ));
    assert_eq!(
        lines,
        [
            "7649abac8119b246cee98e9b12e9197d 6bc1bee22e409f96e93d7e117393172a",
            "874d6191b620e3261bef6864990db6ce",
            "5bc94fbc3221a5db94fae95ae7121a47 true",
            "5bc94fbc3221a5db94fae95a true",
            "OperationError OperationError OperationError InvalidAccessError",
        ]
    );
}

#[test]
fn keys_of_aes_kw_are_generated_imported_and_exported() {
    // k6 1.4.2 generates and imports such keys, and does not wrap others with them.
    let lines = printed(
        "const made = await s.generateKey({ name: 'AES-KW', length: 192 }, true, ['wrapKey', 'unwrapKey']);
         row(made.type, made.algorithm.name, made.algorithm.length, (await s.exportKey('raw', made)).byteLength);
         const read = await s.importKey('raw', bytes('000102030405060708090a0b0c0d0e0f'), 'AES-KW', true, ['wrapKey']);
         const jwk = await s.exportKey('jwk', read);
         row(jwk.kty, jwk.k, jwk.alg);
         row(hex(await s.exportKey('raw', await s.importKey('jwk', jwk, { name: 'AES-KW' }, true, ['unwrapKey']))));
         row(await refused(s.generateKey({ name: 'AES-KW', length: 128 }, true, ['encrypt'])),
           await refused(s.encrypt({ name: 'AES-KW' }, await s.importKey('raw', new Uint8Array(16), 'AES-KW', true, ['encrypt']), data)));",
    );
    assert_eq!(
        lines,
        ["secret AES-KW 192 24", "oct AAECAwQFBgcICQoLDA0ODw A128KW", "000102030405060708090a0b0c0d0e0f", "SyntaxError NotSupportedError"]
    );
}

#[test]
fn generated_keys_sign_verify_and_survive_export() {
    let lines = printed(
        "for (const [algorithm, params] of [
           [{ name: 'ECDSA', namedCurve: 'P-256' }, { name: 'ECDSA', hash: 'SHA-256' }],
           [{ name: 'ECDSA', namedCurve: 'P-384' }, { name: 'ECDSA', hash: { name: 'SHA-384' } }],
           [{ name: 'ECDSA', namedCurve: 'P-521' }, { name: 'ECDSA', hash: 'SHA-512' }],
           [{ name: 'RSA-PSS', modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' }, { name: 'RSA-PSS', saltLength: 32 }],
           [{ name: 'RSASSA-PKCS1-v1_5', modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-512' }, 'RSASSA-PKCS1-v1_5'],
         ]) {
           const pair = await s.generateKey(algorithm, true, ['sign', 'verify']);
           const again = async (format, key, usage) => s.importKey(format, await s.exportKey(format, key), algorithm, true, [usage]);
           const row1 = [];
           for (const format of ['pkcs8', 'jwk']) {
             const own = await again(format, pair.privateKey, 'sign');
             const signature = await s.sign(params, own, data);
             for (const other of ['spki', 'jwk']) {
               const verifying = await again(other, pair.publicKey, 'verify');
               row1.push(await s.verify(params, verifying, signature, data), await s.verify(params, verifying, signature, bytes('00')));
             }
           }
           row(algorithm.name, row1.join(' '), pair.privateKey.usages, pair.publicKey.type);
         }",
    );
    let all = "true false true false true false true false sign public";
    assert_eq!(lines, ["ECDSA", "ECDSA", "ECDSA", "RSA-PSS", "RSASSA-PKCS1-v1_5"].map(|name| format!("{name} {all}")));
}

#[test]
fn both_sides_of_ecdh_derive_the_same_bits() {
    let lines = printed(
        "for (const namedCurve of ['P-256', 'P-384', 'P-521']) {
           const algorithm = { name: 'ECDH', namedCurve };
           const [one, two] = [await s.generateKey(algorithm, true, ['deriveBits']), await s.generateKey(algorithm, true, ['deriveBits'])];
           const sent = await s.importKey('raw', await s.exportKey('raw', two.publicKey), algorithm, true, []);
           const a = await s.deriveBits({ name: 'ECDH', public: sent }, one.privateKey, 256);
           const b = await s.deriveBits({ name: 'ECDH', public: one.publicKey }, two.privateKey, 256);
           row(a.byteLength, hex(a) === hex(b), await refused(s.deriveBits({ name: 'ECDH', public: sent }, one.publicKey, 256)));
         }",
    );
    assert_eq!(lines, vec!["32 true InvalidAccessError"; 3]);
}

#[test]
fn rsa_oaep_encrypts_for_the_owner_of_the_private_key() {
    let lines = printed(
        "const algorithm = { name: 'RSA-OAEP', modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' };
         const pair = await s.generateKey(algorithm, true, ['encrypt', 'decrypt']);
         const params = { name: 'RSA-OAEP', label: bytes('01') };
         const sealed = await s.encrypt(params, pair.publicKey, data);
         row(sealed.byteLength, text(await s.decrypt(params, pair.privateKey, sealed)), await refused(s.decrypt('RSA-OAEP', pair.privateKey, sealed)));",
    );
    assert_eq!(lines, ["256 hello OperationError"]);
}

#[test]
fn secret_keys_have_the_formats_of_k6() {
    let lines = printed(
        "const hmac = { name: 'HMAC', hash: 'SHA-256' };
         const key = await s.importKey('jwk', { kty: 'oct', k: 'AQID' }, hmac, true, ['sign', 'verify']);
         row(hex(await s.exportKey('raw', key)), JSON.stringify(await s.exportKey('jwk', key)), hex(await s.sign('HMAC', key, data)).slice(0, 8));
         const aes = await s.generateKey({ name: 'AES-GCM', length: 256 }, true, ['encrypt']);
         row((await s.exportKey('jwk', aes)).alg, (await s.exportKey('raw', aes)).byteLength, aes.type, aes.algorithm.length);
         const hidden = await s.importKey('raw', new Uint8Array(16), 'AES-CBC', false, ['encrypt']);
         row(await refused(s.exportKey('raw', hidden)), await refused(s.importKey('raw', new Uint8Array(5), 'AES-CBC', true, ['encrypt'])),
             await refused(s.importKey('raw', new Uint8Array(16), 'AES-CBC', true, [])),
             await refused(s.generateKey({ name: 'AES-CBC', length: 100 }, true, ['encrypt'])),
             await refused(s.importKey('raw', new Uint8Array(16), 'AES-CBC', true, ['sign'])),
             await refused(s.decrypt({ name: 'AES-CBC', iv: new Uint8Array(16) }, hidden, data)));",
    );
    assert_eq!(
        lines,
        [
            "010203 {\"kty\":\"oct\",\"k\":\"AQID\",\"ext\":true,\"key_ops\":[\"sign\",\"verify\"],\"alg\":\"HS256\"} a286ecff",
            "A256GCM 32 secret 256",
            "InvalidAccessError DataError SyntaxError OperationError SyntaxError InvalidAccessError",
        ]
    );
}

/// An independent signer: OpenSSL signs what a script verifies.
#[test]
fn a_script_verifies_signatures_of_openssl() {
    let files = folder(&[("data", "hello")]);
    let openssl = |arguments: &str| {
        let output = Command::new("openssl").args(arguments.split(' ')).current_dir(files.path()).output().expect("openssl is installed");
        assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    let hex =
        |bytes: &[u8]| bytes.iter().fold(String::new(), |mut text, byte| write!(text, "{byte:02x}").map(|()| text).unwrap_or_default());
    openssl("genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out key.pem");
    let public = hex(&openssl("pkey -in key.pem -pubout -outform DER"));
    let pkcs1 = hex(&openssl("dgst -sha256 -sign key.pem data"));
    let pss = hex(&openssl("dgst -sha256 -sign key.pem -sigopt rsa_padding_mode:pss -sigopt rsa_pss_saltlen:32 data"));
    let lines = printed(&format!(
        "for (const [name, params, signature] of [['RSASSA-PKCS1-v1_5', 'RSASSA-PKCS1-v1_5', '{pkcs1}'],
           ['RSA-PSS', {{ name: 'RSA-PSS', saltLength: 32 }}, '{pss}']]) {{
           const key = await s.importKey('spki', bytes('{public}'), {{ name, hash: 'SHA-256' }}, true, ['verify']);
           row(await s.verify(params, key, bytes(signature), data), await s.verify(params, key, bytes(signature), bytes('00')), key.algorithm.modulusLength);
         }}"
    ));
    assert_eq!(lines, ["true false 2048", "true false 2048"]);
}
