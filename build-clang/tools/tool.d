build-clang/tools/tool.o: tools/tool.c tools/tool.h ref/base/num/status.h

tools/tool.h:

ref/base/num/status.h:
