#if canImport(SwiftUI)
import Conversation
import SwiftUI

@main
struct ChatApp: App {
  var body: some Scene {
    WindowGroup { ChatView() }
  }
}

struct Message: Identifiable {
  let id: Int
  let isOwn: Bool
  var text: String
}

/// The messages on the screen. Calls of the conversation do not block the main actor, because replies are streams.
@MainActor
final class ChatState: ObservableObject {
  @Published private(set) var messages: [Message] = []
  @Published private(set) var failure: String?
  @Published private(set) var reply: Task<Void, Never>?
  private var conversation: Conversation?

  func open() {
    // In an app's bundle, or the first argument of the program.
    let path = Bundle.main.path(forResource: "demo", ofType: "sotto") ?? CommandLine.arguments.dropFirst().first
    do {
      conversation = try Conversation(path: path ?? "demo.sotto")
    } catch {
      failure = "\(error)"
    }
  }

  func send(_ text: String) {
    guard let conversation, reply == nil else { return }
    append(text, isOwn: true)
    append("", isOwn: false)
    reply = Task {
      do {
        for try await part in conversation.reply(to: text) { messages[messages.count - 1].text += part }
      } catch {
        failure = "\(error)"
      }
      reply = nil
    }
  }

  private func append(_ text: String, isOwn: Bool) {
    messages.append(Message(id: messages.count, isOwn: isOwn, text: text))
  }
}

struct ChatView: View {
  @StateObject private var state = ChatState()
  @State private var input = ""

  var body: some View {
    VStack {
      ScrollViewReader { scroll in
        ScrollView {
          ForEach(state.messages) { message in
            Text(message.text)
              .padding(8)
              .background(message.isOwn ? Color.accentColor.opacity(0.2) : Color.clear)
              .frame(maxWidth: .infinity, alignment: message.isOwn ? .trailing : .leading)
          }
        }
        .onChange(of: state.messages.last?.text) { _ in scroll.scrollTo(state.messages.count - 1, anchor: .bottom) }
      }
      if let failure = state.failure { Text(failure).foregroundColor(.red) }
      HStack {
        TextField("Message", text: $input).onSubmit(send)
        if let reply = state.reply {
          Button("Stop") { reply.cancel() }
        } else {
          Button("Send", action: send).disabled(input.isEmpty)
        }
      }
    }
    .padding()
    .onAppear { state.open() }
  }

  private func send() {
    guard !input.isEmpty, state.reply == nil else { return }
    state.send(input)
    input = ""
  }
}
#else
@main
enum NoApp {
  static func main() { print("This app needs SwiftUI, which only Apple's systems have.") }
}
#endif
