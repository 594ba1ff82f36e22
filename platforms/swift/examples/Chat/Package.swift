// swift-tools-version:5.9
import PackageDescription

let package = Package(
  name: "Chat",
  platforms: [.macOS(.v12), .iOS(.v15)],
  dependencies: [.package(name: "Sotto", path: "../..")],
  targets: [
    .target(name: "Conversation", dependencies: [.product(name: "Sotto", package: "Sotto")]),
    .executableTarget(name: "Chat", dependencies: ["Conversation"]),
    .testTarget(name: "ConversationTests", dependencies: ["Conversation"]),
  ],
  swiftLanguageVersions: [.v5]
)
