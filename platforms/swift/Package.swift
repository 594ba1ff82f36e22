// swift-tools-version:5.9
import Foundation
import PackageDescription

// The XCFramework that platforms/apple/make_xcframework.sh creates here, or else the installed library.
let framework = "CSotto.xcframework"
let hasFramework = FileManager.default.fileExists(atPath: Context.packageDirectory + "/" + framework)

let package = Package(
  name: "Sotto",
  platforms: [.macOS(.v12), .iOS(.v15)],
  products: [.library(name: "Sotto", targets: ["Sotto"])],
  targets: [
    hasFramework
      ? .binaryTarget(name: "CSotto", path: framework) : .systemLibrary(name: "CSotto", pkgConfig: "sotto"),
    .target(name: "Sotto", dependencies: ["CSotto"]),
    .executableTarget(name: "StreamText", dependencies: ["Sotto"]),
    .executableTarget(name: "JSONOutput", dependencies: ["Sotto"]),
    .testTarget(name: "SottoTests", dependencies: ["Sotto"]),
  ],
  swiftLanguageVersions: [.v5, .version("6")]
)
