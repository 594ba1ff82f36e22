// Grammars that use all parts of a matcher: recursion of every kind, counted and nested loops, ambiguity, characters of
// several bytes, and tokens by name.
#pragma once

#include <string_view>

namespace sotto {

inline constexpr std::string_view kFuzzGrammars[] = {
    "root ::= [a-c]+",
    R"g(root ::= v
v ::= "{" (s ":" v ("," s ":" v)*)? "}" | "[" (v ("," v)*)? "]" | s | [0-9]+ | "true" | "null"
s ::= "\"" ([^"\\\x00-\x1F] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4}))* "\"")g",
    R"g(root ::= root "a" | "a")g",
    R"g(root ::= x root "c" | "y"
x ::= b
b ::= "")g",
    R"g(root ::= ("a"*)*)g",
    R"g(root ::= s
s ::= s s | "a" | "b")g",
    R"g(root ::= [a-z]{0,100000})g",
    R"g(root ::= "a"{3,7} ("b"{2,} "c"){1,20} | "abc"{5})g",
    R"g(root ::= (("a"|"aa"){0,200}){0,200})g",
    R"g(root ::= (("a"? "b"?){0,40}){0,40})g",
    R"g(root ::= a{8} "x"
a ::= b{4}
b ::= "c"? "d"?)g",
    R"g(root ::= "a" root "a" | "b" root "b" | "")g",
    R"g(root ::= [^é]+ "é")g",
    R"g(root ::= [\U00010000-\U0010FFFF]+ | [à-ÿ]* "a")g",
    R"g(root ::= . | "{" .{2,5} "}" | "\n" [^a]*)g",
    R"g(root ::= <[1]> "a" <think>+ [a-z]* !<think>? "b")g",
    R"g(root ::= (<[2-90]> | "a")* <[0]>?)g",
    R"g(root ::= e
e ::= e "+" t | t
t ::= t "*" f | f
f ::= "(" e ")" | [a-z]+ | [0-9]{1,40})g",
    R"g(root ::= a b c d
a ::= "a"? b?
b ::= c? "b"?
c ::= d | a
d ::= "" | "d" root?)g",
    R"g(root ::= ("the quick brown" | "the " [a-z]+ | "name" "type"?) " "{0,3} root?)g",
    R"g(root ::= l{2,9}
l ::= "[" l{0,3} "]" | "a"{1,300} ",")g",
    R"g(root ::= a | "x" root
a ::= b "y" | "x"
b ::= a "x" | root "é")g",
};

}  // namespace sotto
