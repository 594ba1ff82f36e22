// swift-tools-version:5.9
import PackageDescription

let package = Package(
  name: "Sotto",
  platforms: [.macOS(.v12), .iOS(.v15)],
  products: [.library(name: "Sotto", targets: ["Sotto"])],
  targets: [
    .systemLibrary(name: "CSotto", pkgConfig: "sotto"),
    .target(name: "Sotto", dependencies: ["CSotto"]),
    .executableTarget(name: "StreamText", dependencies: ["Sotto"]),
    .executableTarget(name: "JSONOutput", dependencies: ["Sotto"]),
    .testTarget(name: "SottoTests", dependencies: ["Sotto"]),
  ]
)
