// Streams text: stream MODEL PROMPT
#include <iostream>
#include <sotto.hpp>

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::cerr << "usage: stream MODEL PROMPT\n";
    return 2;
  }
  auto model = sotto::Model::open(argv[1]);
  auto session = sotto::Session::create(model);
  for (const sotto::Piece& piece : session.stream(argv[2], 100)) std::cout << piece.text() << std::flush;
  std::cout << '\n';
} catch (const sotto::Error& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
