//! Tests that the generated gRPC messages match the files in `proto/`.

use std::fs;
use std::path::{Path, PathBuf};

use tonic::codegen::Bytes;

const FILES: [&str; 2] = ["envoy/service/ratelimit/v3/rls.proto", "grpc/health/v1/health.proto"];

fn crate_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Generates all files, with their paths.
fn generated_files() -> Vec<(PathBuf, Vec<u8>)> {
    let mut compiler = protox::Compiler::new([crate_folder().join("proto")]).unwrap();
    compiler.include_imports(true).include_source_info(false);
    for file in FILES {
        compiler.open_file(file).unwrap();
    }
    let descriptors = compiler.file_descriptor_set();
    let encoded = compiler.encode_file_descriptor_set();
    let mut config = prost_build::Config::new();
    // Bodies of refusals are arbitrary bytes.
    config.bytes(["."]);
    // Comments of the files would become documentation in Rust.
    config.disable_comments(["."]);
    let modules = descriptors
        .file
        .iter()
        .map(|file| (prost_build::Module::from_protobuf_package_name(file.package()), file.clone()))
        .collect();
    let generated = config.generate(modules).unwrap();
    let folder = crate_folder().join("src/grpc/proto");
    let mut files: Vec<(PathBuf, Vec<u8>)> = generated
        .into_iter()
        // Google's own types come from prost-types.
        .filter(|(module, text)| !text.is_empty() && module.parts().next() != Some("google"))
        .map(|(module, text)| (folder.join(module.to_file_name_or("messages")), text.into_bytes()))
        .collect();
    files.push((crate_folder().join("proto/descriptors.bin"), encoded));
    files
}

#[test]
fn generated_files_are_up_to_date() {
    let write = std::env::var_os("SLUICEGATE_WRITE").is_some();
    for (path, expected) in generated_files() {
        if write {
            fs::write(&path, &expected).unwrap();
        }
        let found = fs::read(&path).map(Bytes::from).unwrap_or_default();
        assert!(
            found == expected,
            "{} does not match proto/; run this test with SLUICEGATE_WRITE=1",
            path.display()
        );
    }
}
