//! What a script is told of its request, in one block of memory that C can read.
#![allow(unsafe_code)]

use crate::border::{BorderPair, BorderRequest, BorderSetting, BorderText};

/// A line `php_value` and the like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The name, as in php.ini.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Whether neither scripts nor `.htaccess` files may change it.
    pub is_admin: bool,
    /// Whether it stands in a `.htaccess` file.
    pub is_of_htaccess: bool,
}

/// A part of the block; `None` is nothing.
type Span = Option<(usize, usize)>;

/// A request, put together text by text. None of the texts may contain a zero byte: C would take
/// it for the end, and so what stands behind one is left out.
#[derive(Default)]
pub struct ScriptRequest {
    texts: Vec<u8>,
    variables: Vec<(Span, Span)>,
    settings: Vec<(Span, Span, bool, bool)>,
    method: Span,
    query: Span,
    path: Span,
    file: Span,
    content_type: Span,
    cookies: Span,
    authorization: Span,
    user: Span,
    /// How long the body is; 0 without one.
    pub content_length: u64,
    /// 1001 is HTTP/1.1.
    pub protocol: u32,
    /// 200, or the status whose error document the script makes.
    pub status: u16,
    /// When it came, in seconds since 1970.
    pub time_s: f64,
    /// Whether the source of the script is shown instead.
    pub is_source: bool,
}

impl ScriptRequest {
    /// A request with these texts, for the script in `file`; `path` is the decoded path of its URL.
    pub fn new(method: &[u8], path: &[u8], file: &[u8]) -> Self {
        let mut request = Self { protocol: 1001, status: 200, ..Self::default() };
        request.texts.reserve(4096);
        request.method = request.add(method);
        request.path = request.add(path);
        request.file = request.add(file);
        request
    }

    /// What stands behind the question mark, if there is one.
    pub fn query(&mut self, query: Option<&[u8]>) {
        self.query = query.and_then(|text| self.add(text));
    }

    /// The fields of the request that PHP looks at itself.
    pub fn fields(
        &mut self,
        content_type: Option<&[u8]>,
        cookies: Option<&[u8]>,
        authorization: Option<&[u8]>,
    ) {
        self.content_type = content_type.and_then(|text| self.add(text));
        self.cookies = cookies.and_then(|text| self.add(text));
        self.authorization = authorization.and_then(|text| self.add(text));
    }

    /// Who the server says that it is.
    pub fn user(&mut self, user: Option<&[u8]>) {
        self.user = user.and_then(|text| self.add(text));
    }

    /// A variable of `$_SERVER`.
    pub fn variable(&mut self, name: &[u8], value: &[u8]) {
        let pair = (self.add(name), self.add(value));
        self.variables.push(pair);
    }

    /// A setting for this request.
    pub fn setting(&mut self, setting: &Setting) {
        let (name, value) = (self.add(setting.name.as_bytes()), self.add(setting.value.as_bytes()));
        self.settings.push((name, value, setting.is_admin, setting.is_of_htaccess));
    }

    /// Whether a setting of this name is among those that were added.
    pub fn has_setting(&self, name: &str) -> bool {
        let is_it = |span: &Span| {
            span.is_some_and(|(start, length)| {
                self.texts[start..start + length] == *name.as_bytes()
            })
        };
        self.settings.iter().any(|row| is_it(&row.0))
    }

    /// The length does not count the zero that follows.
    fn add(&mut self, text: &[u8]) -> Span {
        let start = self.texts.len();
        let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
        self.texts.extend_from_slice(text);
        self.texts.push(0);
        Some((start, text.len()))
    }

    /// The same for C.
    pub(crate) fn for_border(&self) -> RequestForBorder<'_> {
        let text = |span: Span| {
            span.map_or(BorderText::NOTHING, |(start, length)| {
                BorderText::of(&self.texts[start..start + length])
            })
        };
        let pair = |row: &(Span, Span)| BorderPair { name: text(row.0), value: text(row.1) };
        let setting = |row: &(Span, Span, bool, bool)| BorderSetting {
            name: text(row.0),
            value: text(row.1),
            is_admin: row.2.into(),
            is_of_htaccess: row.3.into(),
        };
        let variables: Vec<BorderPair> = self.variables.iter().map(pair).collect();
        let settings: Vec<BorderSetting> = self.settings.iter().map(setting).collect();
        let request = BorderRequest {
            method: text(self.method),
            query: text(self.query),
            path: text(self.path),
            file: text(self.file),
            content_type: text(self.content_type),
            cookies: text(self.cookies),
            authorization: text(self.authorization),
            user: text(self.user),
            content_length: i64::try_from(self.content_length).unwrap_or(i64::MAX),
            protocol: self.protocol,
            status: self.status.into(),
            time_s: self.time_s,
            is_source: self.is_source.into(),
            padding: 0,
            variables: variables.as_ptr(),
            variables_count: variables.len(),
            settings: settings.as_ptr(),
            settings_count: settings.len(),
        };
        RequestForBorder { request, _variables: variables, _settings: settings, _of: self }
    }
}

/// A request for C, and what it points to.
pub(crate) struct RequestForBorder<'r> {
    pub(crate) request: BorderRequest,
    _variables: Vec<BorderPair>,
    _settings: Vec<BorderSetting>,
    _of: &'r ScriptRequest,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_end_with_a_zero_and_at_the_first_zero() {
        let mut request = ScriptRequest::new(b"GET", b"/a\0b", b"");
        request.query(None);
        request.variable(b"A", b"1");
        let border = request.for_border();
        let text = |text: BorderText| {
            // SAFETY: `request` lives, and each text of it is followed by a zero.
            unsafe { std::slice::from_raw_parts(text.at.cast::<u8>(), text.length + 1) }
        };
        assert_eq!(text(border.request.method), b"GET\0");
        assert_eq!(text(border.request.path), b"/a\0");
        assert_eq!(text(border.request.file), b"\0");
        assert!(border.request.query.at.is_null());
        assert_eq!(border.request.variables_count, 1);
        // SAFETY: there is one.
        let variable = unsafe { *border.request.variables };
        assert_eq!((text(variable.name), text(variable.value)), (&b"A\0"[..], &b"1\0"[..]));
    }
}
