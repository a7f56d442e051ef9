//! Enums whose variants have fixed names, generated together with their names from one table.

/// An enum that `named!` made.
pub trait Named: Copy + Eq + 'static {
    fn name(self) -> &'static str;
    fn of(name: &str) -> Option<Self>;
}

/// Generates the enum, `ALL` of its variants, `name`, and `of`, which finds the variant with a name.
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

            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }

            pub fn of(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|known| known.name() == name)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl $crate::names::Named for $name {
            fn name(self) -> &'static str {
                self.name()
            }

            fn of(name: &str) -> Option<Self> {
                Self::of(name)
            }
        }
    };
}
