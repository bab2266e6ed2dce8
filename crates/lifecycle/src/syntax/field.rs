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
                /// The allowed values.
                pub r#enum: Option<Vec<At<Name>>>,
                /// The smallest number of characters.
                #[key("minLength")]
                pub min_length: Option<u32>,
                /// The largest number of characters.
                #[key("maxLength")]
                pub max_length: Option<u32>,
                /// A regular expression that the whole text must match.
                pub pattern: Option<At<String>>,
                /// The smallest number.
                pub minimum: Option<f64>,
                /// The largest number.
                pub maximum: Option<f64>,
                /// The type of each element.
                pub items: Option<Box<TypeDecl>>,
                /// The smallest number of elements.
                #[key("minItems")]
                pub min_items: Option<u32>,
                /// The largest number of elements.
                #[key("maxItems")]
                pub max_items: Option<u32>,
                /// Whether duplicate elements are refused.
                pub unique: Option<bool>,
                /// The members that an object may have.
                pub properties: Option<Named<TypeDecl>>,
                /// The members that an object must have. In `takes`: the message when the value is missing.
                pub required: Option<Node>,
                /// Instead of `properties`: any keys, with values of this type.
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
    /// A type: the values that are allowed.
    pub struct TypeDecl {}
}

with_type_keys! {
    /// A field: a type, and where its value comes from.
    pub struct FieldDecl {
        /// The value of a new entity if the request sends none: a literal.
        pub default: Option<At<Json>>,
        /// `engine`: only the engine writes the field; a request cannot send it.
        pub by: Option<At<Name>>,
        /// An expression: the field is computed when it is read, and never stored.
        pub is: Option<super::Expr>,
        /// Who may read the field; by default every reader of the entity.
        pub read: Option<super::Expr>,
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
