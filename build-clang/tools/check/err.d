build-clang/tools/check/err.o: tools/check/err.c tools/check/err.h

tools/check/err.h:
