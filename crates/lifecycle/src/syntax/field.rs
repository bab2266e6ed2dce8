//! Fields and types.

use crate::name::Name;
use crate::source::{At, Json, Named, Node, keys};

/// Declares a mapping that describes a type, with further keys of its own.
macro_rules! with_type_keys {
    ($(#[doc = $about:literal])* pub struct $name:ident { $($own:tt)* }) => {
        keys! {
            $(#[doc = $about])*
            pub struct $name {
                /// `string`, `integer`, `number`, `boolean`, `time`, `span`, `state`, `array`, `object`, `any`, or a declared type.
                pub r#type: Option<At<Name>>,
                /// The values allowed.
                pub r#enum: Option<Vec<At<Name>>>,
                /// Fewest characters.
                #[key("minLength")]
                pub min_length: Option<u32>,
                /// Most characters.
                #[key("maxLength")]
                pub max_length: Option<u32>,
                /// A regular expression for the whole text.
                pub pattern: Option<At<String>>,
                /// Smallest number.
                pub minimum: Option<f64>,
                /// Largest number.
                pub maximum: Option<f64>,
                /// Type of each element.
                pub items: Option<Box<TypeDecl>>,
                /// Fewest elements.
                #[key("minItems")]
                pub min_items: Option<u32>,
                /// Most elements.
                #[key("maxItems")]
                pub max_items: Option<u32>,
                /// No duplicate elements.
                pub unique: Option<bool>,
                /// The members an object may have.
                pub properties: Option<Named<TypeDecl>>,
                /// The members an object must have; in `takes`, the message when it is missing.
                pub required: Option<Node>,
                /// Instead of `properties`: any keys, values of this type.
                pub values: Option<Box<TypeDecl>>,
                /// The message when a value does not fit.
                pub says: Option<String>,
                /// One sentence for people.
                pub about: Option<String>,
                $($own)*
            }
        }
    };
}

with_type_keys! {
    /// A type: what values fit.
    pub struct TypeDecl {}
}

with_type_keys! {
    /// A field: a type, and where its value comes from.
    pub struct FieldDecl {
        /// A literal given at creation.
        pub default: Option<At<Json>>,
        /// `engine`: only the engine writes it; a request cannot send it.
        pub by: Option<At<Name>>,
        /// An expression: computed when read, never stored.
        pub is: Option<super::Expr>,
    }
}

impl FieldDecl {
    /// The type part of the field.
    pub fn type_decl(&self) -> TypeDecl {
        TypeDecl {
            r#type: self.r#type.clone(),
            r#enum: self.r#enum.clone(),
            min_length: self.min_length,
            max_length: self.max_length,
            pattern: self.pattern.clone(),
            minimum: self.minimum,
            maximum: self.maximum,
            items: self.items.clone(),
            min_items: self.min_items,
            max_items: self.max_items,
            unique: self.unique,
            properties: self.properties.clone(),
            required: self.required.clone(),
            values: self.values.clone(),
            says: self.says.clone(),
            about: self.about.clone(),
        }
    }
}
