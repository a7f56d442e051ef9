//! Stored structs that leave out what has its default.

/// The struct, with `pub field?: Type` for a field that is not written while it has its default, and has it where it is not
/// found. So a new field changes no byte of what older versions wrote.
macro_rules! sparse {
    (@fields [$($head:tt)*] [$($done:tt)*]) => {
        $($head)* { $($done)* }
    };
    (@fields $head:tt [$($done:tt)*] $(#[$what:meta])* pub $field:ident?: $type:ty, $($rest:tt)*) => {
        $crate::text::sparse::sparse! { @fields $head [
            $($done)*
            $(#[$what])*
            #[serde(default, skip_serializing_if = "crate::text::sparse::is_default")]
            pub $field: $type,
        ] $($rest)* }
    };
    (@fields $head:tt [$($done:tt)*] $(#[$what:meta])* pub $field:ident: $type:ty, $($rest:tt)*) => {
        $crate::text::sparse::sparse! { @fields $head [$($done)* $(#[$what])* pub $field: $type,] $($rest)* }
    };
    ($(#[$about:meta])* pub struct $name:ident { $($fields:tt)* }) => {
        $crate::text::sparse::sparse! { @fields [$(#[$about])* pub struct $name] [] $($fields)* }
    };
}

pub(crate) use sparse;

/// For `skip_serializing_if`.
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
