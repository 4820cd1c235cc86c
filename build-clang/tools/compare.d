build-clang/tools/compare.o: tools/compare.c tools/compare.h \
  ref/base/num/dtype.h ref/base/num/status.h ref/base/num/convert.h

tools/compare.h:

ref/base/num/dtype.h:

ref/base/num/status.h:

ref/base/num/convert.h:
