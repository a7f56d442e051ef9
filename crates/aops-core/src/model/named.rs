//! Enums whose variants have fixed names, made with their names out of one table.

/// The enum, `ALL` of its variants, `name`, and `of`, the variant of a name.
#[macro_export]
macro_rules! named {
    ($(#[$about:meta])* pub enum $name:ident { $($(#[$what:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$what])* $variant,)*
        }

        impl $name {
            pub const ALL: [Self; [$($text),*].len()] = [$(Self::$variant),*];

            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }

            pub fn of(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|known| known.name() == name)
            }
        }
    };
}

pub use crate::named;
