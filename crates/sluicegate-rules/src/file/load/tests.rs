//! Tests of the files that are read, their order, and errors about the others.

use super::*;

fn loaded(path: &str, shelf: &InMemoryFiles) -> Loaded {
    let env = |name: &str| (name == "DIR").then(|| "d".to_owned());
    load(Path::new(path), shelf, &env)
}

fn read(loaded: &Loaded) -> Vec<String> {
    loaded.documents.iter().map(|document| document.path.display().to_string()).collect()
}

fn messages(loaded: Loaded) -> Vec<String> {
    let (diagnostics, _) = loaded.diagnostics.into_parts();
    let sources = loaded.sources;
    let line = |diagnostic: &Diagnostic| {
        let place = sources.place(diagnostic.span());
        format!("{}:{}:{}: {}", place.file, place.line, place.column, diagnostic.message())
    };
    diagnostics.iter().map(line).collect()
}

#[test]
fn reads_each_file_once_in_order_of_appearance() {
    let shelf = InMemoryFiles::new()
        .with(
            "c/main.yaml",
            "include: [z.yaml, 'd/*.yaml', ./z.yaml, d, ../top.yaml, '${DIR}/b.yaml', y.yml]",
        )
        .with("c/z.yaml", "include: main.yaml")
        .with("c/d/b.yaml", "include: ../d/../y.yml")
        .with("c/d/a.yaml", "a: 1")
        .with("c/d/c.yml", "")
        .with("c/d/.hidden.yaml", "broken: [")
        .with("c/d/notes.txt", "broken: [")
        .with("c/d/deeper.yaml/x.yaml", "broken: [")
        .with("c/y.yml", "")
        .with("top.yaml", "");
    let loaded = loaded("c/main.yaml", &shelf);
    let expected = [
        "c/main.yaml",
        "c/z.yaml",
        "c/d/a.yaml",
        "c/d/b.yaml",
        "c/d/../d/../y.yml",
        "c/d/c.yml",
        "c/../top.yaml",
    ];
    assert_eq!(read(&loaded), expected);
    let looked = loaded.paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
    assert_eq!(looked[..2], ["c/main.yaml", "c/d"]);
    assert_eq!(looked.len(), expected.len() + 1);
    assert_eq!(messages(loaded), [""; 0]);
}

#[test]
fn a_folder_stands_for_its_yaml_files() {
    let shelf = InMemoryFiles::new()
        .with("r/b.yml", "")
        .with("r/a.yaml", "")
        .with("r/.a.yaml", "[")
        .with("r/readme.md", "[");
    let loaded = loaded("r", &shelf);
    assert_eq!(read(&loaded), ["r/a.yaml", "r/b.yml"]);
    assert_eq!(loaded.paths[0], Path::new("r"));
    assert_eq!(loaded.failure, None);
}

#[test]
fn reads_the_other_files_after_a_broken_one() {
    let shelf = InMemoryFiles::new()
        .with("a.yaml", "include: [b.yaml, nope.yaml, c.yaml, big.yaml, latin.yaml]")
        .with("b.yaml", "a: 'x\nb: 1\n")
        .with("c.yaml", "a: 1\n")
        .with("big.yaml", vec![b' '; (16 << 20) + 1])
        .with("latin.yaml", b"a: 1\nb: caf\xe9\n".to_vec());
    let loaded = loaded("a.yaml", &shelf);
    assert_eq!(read(&loaded), ["a.yaml", "c.yaml"]);
    assert!(loaded.paths.contains(&PathBuf::from("nope.yaml")));
    assert_eq!(
        messages(loaded),
        [
            "b.yaml:1:4: the closing `'` of this text is missing",
            "a.yaml:1:19: `nope.yaml` cannot be read: there is no such file",
            "big.yaml:1:1: the file is larger than 16 MiB; split it with `include`",
            "latin.yaml:2:7: the file is not valid UTF-8 here",
        ]
    );
}

#[test]
fn an_unreadable_path_is_a_failure() {
    let shelf = InMemoryFiles::new().with("empty/readme.md", "");
    for (path, expected) in [
        ("nope.yaml", "`nope.yaml` cannot be read: there is no such file"),
        ("empty", "`empty` cannot be read: there is no `.yaml` or `.yml` file in it"),
    ] {
        let failure = loaded(path, &shelf).failure.unwrap();
        assert_eq!(failure.to_string(), expected);
    }
}

#[test]
fn useless_includes_are_reported() {
    let text =
        "include:\n- 'x*'\n- x*/a.yaml\n- folder\n- ${NOT_SET}\n- {a: 1}\n- nope/*.yaml\n-\n";
    let shelf = InMemoryFiles::new().with("a.yaml", text).with("folder/readme.md", "");
    assert_eq!(
        messages(loaded("a.yaml", &shelf)),
        [
            "a.yaml:5:3: the environment variable `NOT_SET` is not set",
            "a.yaml:2:3: no file matches this pattern",
            "a.yaml:3:3: `x*/a.yaml` cannot be read: only the last part of a path may contain \
             `*`; name the folder",
            "a.yaml:4:3: there is no `.yaml` or `.yml` file in this folder",
            "a.yaml:7:3: `nope/*.yaml` cannot be read: there is no such folder",
        ]
    );
}

#[test]
fn a_pattern_without_a_folder_matches_files_next_to_the_first_one() {
    let shelf = InMemoryFiles::new()
        .with("a.yaml", "include: '*.yaml'")
        .with("b.yaml", "")
        .with("c/d.yaml", "");
    let loaded = loaded("a.yaml", &shelf);
    assert_eq!(read(&loaded), ["a.yaml", "b.yaml"]);
    assert!(loaded.paths.contains(&PathBuf::from(".")));
}

#[test]
fn a_cycle_of_includes_ends() {
    let shelf = (0..9).fold(InMemoryFiles::new(), |shelf, number| {
        shelf.with(format!("{number}.yaml"), format!("include: {}.yaml", (number + 1) % 9))
    });
    let loaded = loaded("0.yaml", &shelf);
    assert_eq!(loaded.documents.len(), 9);
    assert_eq!(messages(loaded), [""; 0]);
}

#[test]
fn includes_have_a_largest_depth() {
    let shelf = (0..20).fold(InMemoryFiles::new(), |shelf, number| {
        shelf.with(format!("{number}.yaml"), format!("include: {}.yaml", number + 1))
    });
    let loaded = loaded("0.yaml", &shelf);
    assert_eq!(loaded.documents.len(), 9);
    let expected =
        "8.yaml:1:10: includes are nested more than 8 files deep; include the file further up";
    assert_eq!(messages(loaded), [expected]);
}

#[test]
fn rejects_more_than_a_thousand_files() {
    let shelf = InMemoryFiles::new().with("main.yaml", "include: many");
    let shelf =
        (0..1_000).fold(shelf, |shelf, number| shelf.with(format!("many/{number}.yaml"), ""));
    let all = loaded("main.yaml", &shelf);
    assert_eq!(all.documents.len(), 1_000);
    assert_eq!(
        messages(all),
        ["main.yaml:1:10: there are more than 1000 files; put several rules into one file"]
    );
    assert_eq!(loaded("many", &shelf).failure, None);
    let more = shelf.with("many/more.yaml", "");
    assert!(loaded("many", &more).failure.is_some());
}

#[test]
fn reads_files_and_folders_from_disk() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    assert!(DiskFiles.is_folder(&folder));
    assert!(DiskFiles.list(&folder).unwrap().contains(&folder.join("lib.rs")));
    assert!(!DiskFiles.read(&folder.join("lib.rs")).unwrap().is_empty());
    assert_eq!(reason(&DiskFiles.read(&folder.join("nope")).unwrap_err()), "there is no such file");
}
