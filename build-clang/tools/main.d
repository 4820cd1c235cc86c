build-clang/tools/main.o: tools/main.c tools/tool.h ref/base/num/status.h

tools/tool.h:

ref/base/num/status.h:
