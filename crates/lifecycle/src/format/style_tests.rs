//! The layout of formatted files.

use super::*;

fn formatted(text: &str) -> String {
    let mut sources = Sources::new();
    let file = sources.add("a.yaml", text);
    let once = format(&sources, file).unwrap_or_else(|it| panic!("{}\n{text}", it.render(&sources, false)));
    let again = sources.add("b.yaml", once.clone());
    assert_eq!(format(&sources, again).unwrap(), once, "formatted twice it is something else");
    once
}

/// With a bar at the end of each line, so that blanks there can be seen.
fn shown(text: &str) -> String {
    formatted(text).lines().map(|it| format!("{it}¦\n")).collect()
}

#[test]
fn two_spaces_for_each_level() {
    insta::assert_snapshot!(shown("a:\n- x\n-   - y\n    - z\n-\n    b: 1\n-     c: 2\n      d:\n            e:   3\nf:\n     text\n"), @"
        a:¦
          - x¦
          - - y¦
            - z¦
          -¦
            b: 1¦
          - c: 2¦
            d:¦
              e: 3¦
        f:¦
          text¦
        ");
}

#[test]
fn one_way_to_write_brackets() {
    insta::assert_snapshot!(shown("a: {x: 1,y:  [ p,q ] ,z: [{a: 1},b]}\nb: {  }\nc: [ ]\nd: [[a],[]]\ne: [a,b,]\n\"f\" : {\"g\":1, h, i:}"), @r#"
        a: { x: 1, y: [p, q], z: [ { a: 1 }, b ] }¦
        b: {}¦
        c: []¦
        d: [ [a], [] ]¦
        e: [a, b]¦
        "f": { "g": 1, h, i: }¦
        "#);
}

#[test]
fn brackets_over_several_lines_stay_on_them() {
    insta::assert_snapshot!(shown("a: { x: 1,\n  y: 2,   # two\n       z: [ p,\n q ] }\nb: {\n      x: 1,\n   # own\n\n\n   y:\n 2,\n       }\nc:\n - [\n  p, {\n q: 1 } ]\n"), @"
        a: { x: 1,¦
             y: 2,  # two¦
             z: [p,¦
                 q] }¦
        b: {¦
          x: 1,¦
          # own¦
        ¦
          y:¦
            2,¦
        }¦
        c:¦
          - [¦
              p, {¦
                q: 1 } ]¦
        ");
}

#[test]
fn comments_stay_with_the_line_above() {
    insta::assert_snapshot!(shown("#!shebang\n#first\n##  banner\n\na:\n        #of b\n     b:\n         c: 1\n         # after c\n     # after b\n   # after a, a little off\n# of d\nd: 1\n   # at the end\n#"), @"
        #!shebang¦
        # first¦
        ##  banner¦
        ¦
        a:¦
          # of b¦
          b:¦
            c: 1¦
            # after c¦
          # after b¦
        # after a, a little off¦
        # of d¦
        d: 1¦
        # at the end¦
        #¦
        ");
}

#[test]
fn comments_behind_lines_have_a_column() {
    insta::assert_snapshot!(shown("a: 1 # one\nlonger: 2     # two\nb: 3  # three\n\nc: 4                # far\nd:    # key\n  - # item\n    e: |  # text\n        x\n"), @"
        a: 1          # one¦
        longer: 2     # two¦
        b: 3          # three¦
        ¦
        c: 4                # far¦
        d:                  # key¦
          -                 # item¦
            e: |            # text¦
              x¦
        ");
}

#[test]
fn a_very_long_line_moves_no_comments() {
    let text = format!("a: 1 # one\nb: {} # two\nc: 3 # three\n", "x".repeat(200));
    let result = formatted(&text);
    assert!(result.starts_with("a: 1  # one\n") && result.ends_with("x  # two\nc: 3  # three\n"), "{result}");
    let far = formatted(&format!("a: 1{}# one\nb: 2 # two\n", " ".repeat(9000)));
    assert!(far.lines().all(|it| it.len() < 170), "{far}");
}

#[test]
fn a_table_stays_a_table() {
    insta::assert_snapshot!(shown("a:   { x: 1 }\nbcd: { x: 1 }\ntoo_long: { x: 1 }\ne:   1\n\nf: 1\nghi:  2\n\nj:        3\nnested:\n  k: 1\nl:        4\nm:  5\n"), @"
        a:        { x: 1 }¦
        bcd:      { x: 1 }¦
        too_long: { x: 1 }¦
        e:        1¦
        ¦
        f: 1¦
        ghi: 2¦
        ¦
        j:        3¦
        nested:¦
          k: 1¦
        l:        4¦
        m:        5¦
        ");
}

#[test]
fn one_key_each_in_a_list_is_a_table_too() {
    insta::assert_snapshot!(shown("- task/T-1:  { a: 1 }\n- task/T-22: { a: 1 }\n- goal/G: {}\n- x\n- y:   1\n"), @"
        - task/T-1:  { a: 1 }¦
        - task/T-22: { a: 1 }¦
        - goal/G:    {}¦
        - x¦
        - y: 1¦
        ");
}

#[test]
fn blank_lines_come_singly() {
    insta::assert_snapshot!(shown("\n\n  \na: 1   \n\n \n\nb: 2\t\n\n\n"), @"
        a: 1¦
        ¦
        b: 2¦
        ");
}

#[test]
fn texts_keep_their_value() {
    insta::assert_snapshot!(shown("a: |\n      one\n        two  \n\n\n      three\n\n\nb: >2-\n    deep\n\n  not\nc: plain\n      words\n\n\n      go on\nd: \"quoted\n  words \\\n     and\\ \n   more\"\ne: |+\n  kept\n\n\n"), @r#"
        a: |¦
          one¦
            two  ¦
        ¦
        ¦
          three¦
        ¦
        b: >2-¦
            deep¦
        ¦
          not¦
        c: plain¦
          words¦
        ¦
        ¦
          go on¦
        d: "quoted¦
          words \¦
          and\ ¦
          more"¦
        e: |+¦
          kept¦
        ¦
        ¦
        "#);
}

#[test]
fn keys_may_be_asked_for() {
    insta::assert_snapshot!(shown("?   a\n:     - b\n      - c\n? d\ne: [ ? f : g,h: i ]\n"), @"
        ? a¦
        : - b¦
          - c¦
        ? d¦
        e: [ ? f : g, h: i ]¦
        ");
}

#[test]
fn windows_files_become_plain() {
    assert_eq!(formatted("\u{feff}a: 1\r\nb:\t[ 2 ]\r\n"), "a: 1\nb: [2]\n");
    assert_eq!(formatted("a: b\u{a0}\n"), "a: b\u{a0}\n");
    assert_eq!(formatted(""), "");
    assert_eq!(formatted("# nothing"), "# nothing\n");
    assert_eq!(formatted("---\na: 1\n...\n#end"), "---\na: 1\n...\n# end\n");
}

#[test]
fn invalid_yaml_is_left_alone() {
    let mut sources = Sources::new();
    let file = sources.add("a.yaml", "a: {b\n");
    assert!(format(&sources, file).unwrap_err().render(&sources, false).contains("a.yaml:1:4"));
    let twice = sources.add("b.yaml", "a: 1\na: 2\n");
    assert!(format(&sources, twice).unwrap_err().render(&sources, false).contains("given twice"));
}

#[test]
fn lost_content_is_detected() {
    let text = "a: 1 # why\nb: 'x'\n";
    let mut sources = Sources::new();
    let file = sources.add("a.yaml", text);
    let before = read(&sources, file, &mut Problems::new()).unwrap();
    let tokens = tokenize::tokenize(text).0;
    assert!(says_the_same(&before, &tokens, "a: 1  #why\nb: \"x\"\n"));
    for other in [
        "a: 1\nb: x\n",
        "a: 1 # what\nb: x\n",
        "a: 1 # why\nb: y\n",
        "b: x # why\na: 1\n",
        "a: 1 # why\nb: [x\n",
    ] {
        assert!(!says_the_same(&before, &tokens, other), "{other:?}");
    }
}
