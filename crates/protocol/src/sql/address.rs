//! `postgres://user:password@host:port/database?sslmode=require`, or `mysql://…`.

use thiserror::Error;
use url::Url;

use crate::credentials::percent_decoded;
use crate::raw::RawTarget;

const EXAMPLE: &str = "postgres://app@127.0.0.1:5432/shop or mysql://app@127.0.0.1:3306/shop";

/// The protocol of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SqlDialect {
    Postgres,
    /// Also for MariaDB.
    MySql,
}

impl SqlDialect {
    fn of_scheme(scheme: &str) -> Option<Self> {
        match scheme {
            "postgres" | "postgresql" => Some(Self::Postgres),
            "mysql" | "mariadb" => Some(Self::MySql),
            _ => None,
        }
    }

    fn port(self) -> u16 {
        match self {
            Self::Postgres => 5432,
            Self::MySql => 3306,
        }
    }

    /// The supported settings after the `?` of a URL.
    fn settings(self) -> &'static str {
        match self {
            Self::Postgres => "sslmode, application_name, options",
            Self::MySql => "sslmode, application_name",
        }
    }
}

/// The address of a server, the user, and the database.
#[derive(Clone, PartialEq, Eq)]
pub struct SqlAddress {
    pub dialect: SqlDialect,
    pub target: RawTarget,
    pub username: String,
    pub password: Option<String>,
    /// For MySQL it may be empty: no database is selected.
    pub database: String,
    pub application_name: String,
    /// Session settings of PostgreSQL, such as `-c search_path=shop`.
    pub options: Option<String>,
    /// Prepares statements once for each connection. Otherwise they are parsed every time.
    pub prepare: bool,
}

/// Without its password.
impl std::fmt::Debug for SqlAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shown())
    }
}

/// Why a string is not a valid database address. The message contains no credentials.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SqlAddressError {
    #[error("it is not a URL ({0}): write it as {EXAMPLE}")]
    Url(url::ParseError),
    #[error("its scheme is {0}: write postgres://, or mysql:// for MySQL and MariaDB")]
    Scheme(String),
    #[error("it has no host: write it as {EXAMPLE}")]
    Host,
    #[error("it has no user: write it as {EXAMPLE}")]
    User,
    #[error("sslmode={0} is not known: write sslmode=require for TLS (its certificate is checked, see `roots`), or sslmode=disable")]
    TlsMode(String),
    #[error("the setting {0} is not known: expected {1}")]
    Setting(String, &'static str),
    #[error("one of its parts has a NUL character (%00), which logins cannot contain")]
    Nul,
}

impl SqlAddress {
    /// Parses a URL.
    ///
    /// # Errors
    /// The URL is invalid.
    pub fn parse(text: &str) -> Result<Self, SqlAddressError> {
        let url = Url::parse(text).map_err(SqlAddressError::Url)?;
        let dialect = SqlDialect::of_scheme(url.scheme()).ok_or_else(|| SqlAddressError::Scheme(url.scheme().to_owned()))?;
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or(SqlAddressError::Host)?;
        let decoded = |text: &str| String::from_utf8_lossy(&percent_decoded(text)).into_owned();
        let username = Some(decoded(url.username())).filter(|name| !name.is_empty()).ok_or(SqlAddressError::User)?;
        let database = decoded(url.path().trim_matches('/'));
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let mut address = Self {
            dialect,
            target: RawTarget { host, port: url.port().unwrap_or_else(|| dialect.port()), tls: false },
            password: url.password().map(decoded),
            // As the server does.
            database: if database.is_empty() && dialect == SqlDialect::Postgres { username.clone() } else { database },
            username,
            application_name: "loadstone".to_owned(),
            options: None,
            prepare: true,
        };
        url.query_pairs().try_for_each(|(name, value)| address.set(&name, value.into_owned()))?;
        // Both protocols end a string with NUL.
        if address.texts().any(|text| text.contains('\0')) {
            return Err(SqlAddressError::Nul);
        }
        Ok(address)
    }

    /// The strings that a login sends.
    fn texts(&self) -> impl Iterator<Item = &String> {
        [&self.username, &self.database, &self.application_name].into_iter().chain(&self.password).chain(&self.options)
    }

    fn set(&mut self, name: &str, value: String) -> Result<(), SqlAddressError> {
        match name {
            "sslmode" => {
                self.target.tls = match &*value {
                    "disable" => false,
                    "require" | "verify-ca" | "verify-full" => true,
                    _ => return Err(SqlAddressError::TlsMode(value)),
                }
            }
            "application_name" => self.application_name = value,
            "options" if self.dialect == SqlDialect::Postgres => self.options = Some(value),
            _ => return Err(SqlAddressError::Setting(name.to_owned(), self.dialect.settings())),
        }
        Ok(())
    }

    /// Without credentials, for users.
    pub fn shown(&self) -> String {
        let scheme = match self.dialect {
            SqlDialect::Postgres => "postgres",
            SqlDialect::MySql => "mysql",
        };
        format!("{scheme}://{}/{}", self.target.authority(), self.database)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_url_is_read() {
        let full = SqlAddress::parse("postgresql://app:p%40ss@[::1]:7000/the%20shop?sslmode=require&options=-c%20search_path%3Dx").unwrap();
        assert_eq!(full.target, RawTarget { host: "::1".to_owned(), port: 7000, tls: true });
        assert_eq!((&*full.username, full.password.as_deref(), &*full.database), ("app", Some("p@ss"), "the shop"));
        assert_eq!(full.options.as_deref(), Some("-c search_path=x"));
        assert_eq!(format!("{full:?}"), "postgres://[::1]:7000/the shop");
        let short = SqlAddress::parse("postgres://app@db").unwrap();
        assert_eq!((short.target.port, short.target.tls, &*short.database, short.password), (5432, false, "app", None));
        let other = SqlAddress::parse("mariadb://app@db").unwrap();
        assert_eq!(
            (other.dialect, other.target.port, &*other.database, &*other.shown()),
            (SqlDialect::MySql, 3306, "", "mysql://db:3306/")
        );
    }

    #[test]
    fn invalid_addresses_are_reported_without_their_password() {
        for (text, expected) in [
            ("db:hidden@h", "its scheme is db"),
            ("127.0.0.1:5432", "it is not a URL"),
            ("mssql://a:hidden@h", "its scheme is mssql: write postgres://, or mysql:// for MySQL and MariaDB"),
            ("mysql://a:hidden@h/shop?options=x", "the setting options is not known: expected sslmode, application_name"),
            ("postgres://h/shop", "it has no user"),
            ("postgres:///shop", "it has no host"),
            ("postgres://a:hidden@h/shop?sslmode=prefer", "sslmode=prefer is not known: write sslmode=require"),
            ("postgres://a:hidden@h/shop?schema=x", "the setting schema is not known"),
        ] {
            let message = SqlAddress::parse(text).unwrap_err().to_string();
            assert!(message.contains(expected) && !message.contains("hidden"), "{text}: {message}");
        }
    }
}
