// swift-tools-version:5.9
import PackageDescription

let package = Package(
  name: "Sotto",
  platforms: [.macOS(.v12), .iOS(.v15)],
  products: [.library(name: "Sotto", targets: ["Sotto"])],
  targets: [
    .target(
      name: "CSotto", path: "src", sources: ["sotto.cpp"], publicHeadersPath: ".",
      cxxSettings: [.define("NDEBUG")]),
    .target(name: "Sotto", dependencies: ["CSotto"]),
  ],
  cxxLanguageStandard: .cxx20
)
