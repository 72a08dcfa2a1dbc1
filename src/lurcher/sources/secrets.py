"""Files that look like secrets: those that programs keep keys, tokens and passwords in, by path, and private keys by content.

They are left out wherever they lie and whether git ignores them or not, since what is indexed is shown to agents, in pages and
in answers that are sent on. Only the user's own setting `index.secrets` brings them back: no file of a repository does.

The list holds what is called so for no other reason. Examples (`.env.example`) hold no secrets. Code that has a key in it is
code; tools that look for those exist.
"""

from __future__ import annotations

from lurcher.runtime.light import pattern

REASON = "looks-like-a-secret"
SETTING = "index.secrets"
TOLD = f"it looks like a secret ({SETTING}, which only you can set, brings such files back)"

_NAMES = frozenset(
    {
        *(".env", ".envrc", ".netrc", "_netrc", ".npmrc", ".pypirc", ".git-credentials", ".htpasswd", ".htdigest", ".pgpass"),
        *("pgpass.conf", ".my.cnf", ".mylogin.cnf", ".s3cfg", ".boto", ".dockercfg", ".vault-token", ".terraformrc"),
        *("id_rsa", "id_dsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk", "master.key", "kubeconfig"),
        *("credentials.json", "client_secret.json", "client_secrets.json", "service-account.json", "service_account.json"),
        *("application_default_credentials.json", "secrets.json", "terraform.tfstate.backup"),
        *(".bash_history", ".zsh_history", ".sh_history", ".psql_history", ".mysql_history", ".sqlite_history"),
    }
)
_ENDINGS = frozenset(
    {"env", "tfvars", "tfstate", "kdbx", "kdb", "p12", "pfx", "jks", "keystore", "ppk", "ovpn", "agekey", "keytab"},
)  # fmt: skip
_BELOW = (
    *(".aws/credentials", ".docker/config.json", ".kube/config", ".cargo/credentials", ".cargo/credentials.toml"),
    *(".gem/credentials", ".config/gh/hosts.yml", ".azure/accesstokens.json", ".config/hub"),
)
FOLDERS = frozenset({".gnupg"})
_SAMPLES = frozenset({"example", "examples", "sample", "template", "tmpl", "dist", "default", "defaults", "schema"})

_LAST = frozenset(name.rpartition(".")[2] for name in (*_NAMES, *(path.rpartition("/")[2] for path in _BELOW))) | _ENDINGS
SUSPECT = _LAST | frozenset(last.upper() for last in _LAST) | {"json"}
"""What comes after the last dot of such names, or all of it: one look-up tells that most files need no closer look."""
DOTENV = ".env."

_KEY = pattern(rb"-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----")
_BEGINS = pattern(rb"\s*(?:-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-\d|AGE-SECRET-KEY-1)")
_KEY_ENDINGS = frozenset({"pem", "key", "crt", "cer", "p8", "asc", "gpg", "pgp"})
"""Before a key in these there may be a certificate, or what a tool says of it."""
_LARGEST_KEY = 1 << 20
_LARGEST_ACCOUNT = 1 << 16


def secret_path(path: str) -> bool:
    """Whether a file at this path, as seen from the root, is one that secrets are kept in."""
    path = path.lower()
    folder, _, name = path.rpartition("/")
    parts = name.split(".")
    last = parts[-1]
    if last in _SAMPLES:
        return False
    if name in _NAMES or name.startswith(DOTENV):
        return True
    if len(parts) > 1 and (last in _ENDINGS or name.endswith((".tfvars.json", ".tfstate.backup"))):
        return not (parts[0] in _SAMPLES or parts[-2] in _SAMPLES)
    if name.startswith("client_secret_") and last == "json":
        return True
    if not folder:
        return False
    return f"/{path}".endswith(tuple(f"/{below}" for below in _BELOW)) or not FOLDERS.isdisjoint(folder.split("/"))


def secret_text(data: bytes, extension: str) -> bool:
    """Whether a text is a private key, or the account of a service with its key."""
    if _BEGINS.match(data) is not None:
        return True
    if extension in _KEY_ENDINGS:
        return has_key(data[:_LARGEST_KEY])
    return extension == "json" and len(data) <= _LARGEST_ACCOUNT and b'"private_key"' in data and has_key(data)


def has_key(data: bytes) -> bool:
    """Whether a private key begins somewhere in a text."""
    return b"PRIVATE KEY" in data and _KEY.search(data) is not None
