build-clang/tools/options.o: tools/options.c tools/options.h \
  ref/base/num/status.h tools/tool.h

tools/options.h:

ref/base/num/status.h:

tools/tool.h:
