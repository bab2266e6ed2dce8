//! The file that maps people of an OpenID provider or a reverse proxy to ids and roles.

use std::path::Path;

use serde_json::Value as Json;
use trackside_engine::actor::ENGINE;
use trackside_engine::key::is_valid_id;
use trackside_lifecycle::keys;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::{FromNode as _, Json as Any, Named, Problems, Sources, read};

keys! {
    /// The people who may sign in.
    struct PeopleDecl {
        /// The claim that names a person; `email` by default.
        claim: Option<String>,
        /// Claims that must have these values.
        require: Named<Any>,
        /// Name to id and roles.
        people: Named<PersonDecl>,
        /// Roles by the values of a claim.
        groups: Option<GroupsDecl>,
    }
}

keys! {
    /// A person.
    struct PersonDecl {
        /// The id here; the name by default.
        id: Option<String>,
        /// The roles, such as `admin` or `mission:lead`.
        roles: Option<Vec<String>>,
    }
}

keys! {
    /// Groups of people.
    struct GroupsDecl {
        /// The claim with the groups of a person: a list, or one text.
        claim: String,
        /// Group to roles. A person in none of these groups, and not in `people`, may not sign in.
        roles: Named<Vec<String>>,
    }
}

/// The people who may sign in, with their ids and roles.
#[derive(Clone, Debug, Default)]
pub struct PeopleFile {
    claim: String,
    require: Vec<(String, Json)>,
    /// Name, id and roles.
    people: Vec<(String, String, Vec<String>)>,
    /// The claim that lists the groups of a person, and the roles of each group.
    groups: Option<(String, GroupRoles)>,
}

/// Groups with their roles.
type GroupRoles = Vec<(String, Vec<String>)>;

/// A person who was authenticated elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExternalPerson {
    pub id: Name,
    pub roles: Vec<String>,
}

impl PeopleFile {
    /// Reads the file, or returns its problems as text.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|it| format!("{}: {it}", path.display()))?;
        Self::parse(&path.display().to_string(), &text)
    }

    pub(crate) fn parse(path: &str, text: &str) -> Result<Self, String> {
        let (mut sources, mut problems) = (Sources::default(), Problems::default());
        let file = sources.add(path, text);
        let node = read(&sources, file, &mut problems);
        let declared = node.and_then(|it| PeopleDecl::from_node(&it, &mut problems));
        let Some(declared) = declared.filter(|_| !problems.has_errors()) else {
            return Err(problems.render(&sources, false));
        };
        let people = declared.people.iter().map(|(name, it)| {
            let id = it.id.clone().unwrap_or_else(|| name.it.to_string());
            (name.it.to_string(), id, it.roles.clone().unwrap_or_default())
        });
        let people: Vec<_> = people.collect();
        if let Some((name, id, _)) = people.iter().find(|(_, id, _)| !is_person_id(id)) {
            return Err(format!("{path}: {name}: the id `{id}` {WRONG_ID}. Give the person another `id`"));
        }
        let groups = declared.groups.map(|it| {
            let roles = it.roles.iter().map(|(group, roles)| (group.it.to_string(), roles.clone()));
            (it.claim.clone(), roles.collect())
        });
        let require = declared.require.iter().map(|(name, it)| (name.it.to_string(), it.0.to_json()));
        Ok(Self {
            claim: declared.claim.unwrap_or_else(|| "email".to_owned()),
            require: require.collect(),
            people,
            groups,
        })
    }

    /// Whether every claim that this file names is there.
    pub(crate) fn has_needed_claims(&self, claims: &Json) -> bool {
        let required = self.require.iter().map(|(name, _)| name);
        let groups = self.groups.iter().map(|(claim, _)| claim);
        std::iter::once(&self.claim).chain(required).chain(groups).all(|it| claims.get(it).is_some())
    }

    /// The person that these claims describe, or why they may not sign in.
    pub(crate) fn by_claims(&self, claims: &Json) -> Result<ExternalPerson, String> {
        for (name, wanted) in &self.require {
            if claims.get(name) != Some(wanted) {
                return Err(format!("The provider does not confirm the claim {name}: it must be {wanted}"));
            }
        }
        let name = claims.get(&self.claim).and_then(Json::as_str).filter(|it| !it.is_empty());
        let name = name.ok_or_else(|| format!("The provider does not send the claim {}", self.claim))?;
        let in_groups = match &self.groups {
            None => Vec::new(),
            Some((claim, _)) => match claims.get(claim) {
                Some(Json::Array(all)) => all.iter().filter_map(Json::as_str).map(str::to_owned).collect(),
                Some(Json::String(one)) => vec![one.clone()],
                _ => Vec::new(),
            },
        };
        self.person(name, &in_groups)
    }

    /// The person with this name, or why they may not sign in.
    pub(crate) fn by_name(&self, name: &str) -> Result<ExternalPerson, String> {
        self.person(name, &[])
    }

    fn person(&self, name: &str, in_groups: &[String]) -> Result<ExternalPerson, String> {
        let known = self.people.iter().find(|(it, ..)| it == name);
        let groups = self.groups.iter().flat_map(|(_, groups)| groups);
        let groups: Vec<_> = groups.filter(|(group, _)| in_groups.contains(group)).collect();
        if known.is_none() && groups.is_empty() {
            return Err(format!("{name} is not one of the people who may sign in. Ask an admin to add you"));
        }
        let id = known.map_or(name, |(_, id, _)| id);
        if !is_person_id(id) {
            return Err(format!("`{id}` {WRONG_ID}. Ask an admin to give you an `id` in the file of people"));
        }
        let mut roles = known.map(|(.., roles)| roles.clone()).unwrap_or_default();
        roles.extend(groups.iter().flat_map(|(_, roles)| roles.clone()));
        Ok(ExternalPerson { id: Name::new(id), roles })
    }
}

const WRONG_ID: &str = "is no id of a person: 1 to 128 letters, digits and `._@-`";

fn is_person_id(id: &str) -> bool {
    is_valid_id(id) && !id.contains(':') && id != ENGINE
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const FILE: &str = "\
claim: email
require: { email_verified: true }
people:
  ada@example.com: { id: ada, roles: [admin] }
  kim@example.com: {}
groups: { claim: groups, roles: { devs: ['coding:coder'], leads: ['mission:lead'] } }
";

    fn signed(file: &str, claims: Json) -> Result<(String, Vec<String>), String> {
        let found = PeopleFile::parse("people.yaml", file).unwrap().by_claims(&claims)?;
        Ok((found.id.to_string(), found.roles))
    }

    #[test]
    fn claims_name_a_person_with_roles() {
        let of = |email: &str, groups: Json| {
            signed(FILE, json!({ "email": email, "email_verified": true, "groups": groups }))
        };
        let named = |id: &str, roles: &[&str]| {
            Ok((id.to_owned(), roles.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>()))
        };
        assert_eq!(of("ada@example.com", json!([])), named("ada", &["admin"]));
        assert_eq!(of("kim@example.com", json!(["leads"])), named("kim@example.com", &["mission:lead"]));
        assert_eq!(of("eve@example.com", json!("devs")), named("eve@example.com", &["coding:coder"]));
        assert!(of("eve@example.com", json!(["others"])).unwrap_err().contains("not one of the people"));
        assert!(of("a+b@example.com", json!(["devs"])).unwrap_err().contains("is no id of a person"));
        let unverified = signed(FILE, json!({ "email": "ada@example.com", "email_verified": false }));
        assert!(unverified.unwrap_err().contains("email_verified: it must be true"));
        assert!(signed(FILE, json!({ "email_verified": true })).unwrap_err().contains("the claim email"));
    }

    #[test]
    fn a_wrong_file_is_explained() {
        for (text, says) in [
            ("peple: {}", "people"),
            ("people: { a: { rolls: [] } }", "roles"),
            ("people: { 'a:b': {} }", "is no id of a person"),
            ("people: { x: { id: trackside } }", "is no id of a person"),
        ] {
            let problem = PeopleFile::parse("people.yaml", text).unwrap_err();
            assert!(problem.contains(says), "{text}: {problem}");
        }
    }
}
