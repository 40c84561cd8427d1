// flags: -std=c++20
// The same as result.cpp by C++20.

#include "result.cpp"
