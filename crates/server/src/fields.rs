//! Lists of fields with the operations of httpd's apr_table: names compare without regard to case,
//! and the spelling of the first one stays.

use crate::received_request::ReceivedRequest;
use message::{Field, RequestHead};
use std::borrow::Cow;

/// The fields of a request. `RequestHeader add` makes lines of one name that stay apart.
pub fn of_request(request: &ReceivedRequest) -> Vec<Field> {
    if !request.is_changed() {
        return of_head(&request.view());
    }
    let text = |name| Cow::Owned(String::from_utf8_lossy(name).into_owned());
    request.view().fields().map(|(name, value)| (text(name), value.to_vec())).collect()
}

/// The fields of a head as it was sent; lines of one name are joined, as httpd does when it has
/// read them (apr_table_compress in protocol.c).
pub fn of_head(head: &RequestHead<'_>) -> Vec<Field> {
    let mut fields: Vec<Field> = Vec::with_capacity(head.field_count());
    for (name, value) in head.fields() {
        let name = String::from_utf8_lossy(name);
        match fields.iter_mut().find(|field| field.0.eq_ignore_ascii_case(&name)) {
            Some(field) => join(&mut field.1, value),
            None => fields.push((Cow::Owned(name.into_owned()), value.to_vec())),
        }
    }
    fields
}

/// The value of a field of a request, its lines joined.
pub fn joined<'h>(head: &RequestHead<'h>, name: &[u8]) -> Option<Cow<'h, [u8]>> {
    let wanted = |field: &(&[u8], &[u8])| field.0.eq_ignore_ascii_case(name);
    let mut lines = head.fields().filter(wanted).map(|field| field.1);
    let first = lines.next()?;
    let Some(second) = lines.next() else { return Some(Cow::Borrowed(first)) };
    let mut value = first.to_vec();
    join(&mut value, second);
    lines.for_each(|line| join(&mut value, line));
    Some(Cow::Owned(value))
}

fn join(value: &mut Vec<u8>, more: &[u8]) {
    value.extend_from_slice(b", ");
    value.extend_from_slice(more);
}

/// The first value of `name` (apr_table_get).
pub fn get<'f>(fields: &'f [Field], name: &str) -> Option<&'f [u8]> {
    fields.iter().find(|field| is(field, name)).map(|field| field.1.as_slice())
}

/// One field of this name, where the first one was (apr_table_set).
pub fn set(fields: &mut Vec<Field>, name: &str, value: Vec<u8>) {
    let Some(at) = fields.iter().position(|field| is(field, name)) else {
        return add(fields, name, value);
    };
    fields[at].1 = value;
    let mut nth = 0;
    fields.retain(|field| {
        nth += 1;
        nth <= at + 1 || !is(field, name)
    });
}

/// One more (apr_table_add).
pub fn add(fields: &mut Vec<Field>, name: &str, value: Vec<u8>) {
    fields.push((Cow::Owned(name.to_owned()), value));
}

/// Added to the first one's list (apr_table_merge).
pub fn merge(fields: &mut Vec<Field>, name: &str, value: Vec<u8>) {
    match fields.iter_mut().find(|field| is(field, name)) {
        Some(field) => join(&mut field.1, &value),
        None => add(fields, name, value),
    }
}

/// None of this name (apr_table_unset).
pub fn unset(fields: &mut Vec<Field>, name: &str) {
    fields.retain(|field| !is(field, name));
}

fn is(field: &Field, name: &str) -> bool {
    field.0.eq_ignore_ascii_case(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(fields: &[Field]) -> String {
        let line = |field: &Field| format!("{}={};", field.0, String::from_utf8_lossy(&field.1));
        fields.iter().map(line).collect()
    }

    #[test]
    fn names_are_alike_in_any_case_and_keep_their_place() {
        let mut fields = Vec::new();
        for (name, value) in [("A", "1"), ("B", "2"), ("a", "3")] {
            add(&mut fields, name, value.into());
        }
        merge(&mut fields, "a", b"4".to_vec());
        assert_eq!(text(&fields), "A=1, 4;B=2;a=3;");
        set(&mut fields, "a", b"5".to_vec());
        assert_eq!(text(&fields), "A=5;B=2;");
        set(&mut fields, "c", b"6".to_vec());
        unset(&mut fields, "b");
        merge(&mut fields, "D", b"7".to_vec());
        assert_eq!(text(&fields), "A=5;c=6;D=7;");
        assert_eq!((get(&fields, "C"), get(&fields, "b")), (Some(&b"6"[..]), None));
    }
}
